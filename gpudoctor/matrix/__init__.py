"""The compatibility matrix: what is known of drivers, CUDA releases, frameworks and GPUs, each fact with its source.

Pure: tables reach it through a reader (`gpudoctor.matrix_files` reads the shipped CSV files). What the tables do not
hold is None, which is "unknown" and never "incompatible".
"""

from __future__ import annotations

from gpudoctor.matrix.lookup import Matrix
from gpudoctor.matrix.resolve import Resolution, Resolved
from gpudoctor.matrix.rows import (
    Chip,
    CpuNeed,
    CudaRelease,
    CudnnRelease,
    DriverBranch,
    DriverFloor,
    DriverPackage,
    Engine,
    Fault,
    FrameworkRelease,
    GpuProduct,
    Source,
    Sxid,
    Xid,
)

__all__ = [
    "Chip",
    "CpuNeed",
    "CudaRelease",
    "CudnnRelease",
    "DriverBranch",
    "DriverFloor",
    "DriverPackage",
    "Engine",
    "Fault",
    "FrameworkRelease",
    "GpuProduct",
    "Matrix",
    "Resolution",
    "Resolved",
    "Source",
    "Sxid",
    "Xid",
]
