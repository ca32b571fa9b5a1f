"""The compatibility matrix: known facts on drivers, CUDA releases, frameworks and GPUs, each with its source.

Pure: a reader supplies the tables (`gpudoctor.matrix_files` reads the shipped CSV files). A fact missing from the tables is None:
"unknown", never "incompatible".
"""

from __future__ import annotations

from gpudoctor.matrix.lookup import Matrix
from gpudoctor.matrix.machine_rows import DriverBranch, DriverPackage, GpuProduct
from gpudoctor.matrix.row_matching import MatchKind
from gpudoctor.matrix.rows import ContainerEngine, CpuNeed, CudaRelease, CudnnRelease, Fault, FrameworkRelease, GpuNeed, Source
