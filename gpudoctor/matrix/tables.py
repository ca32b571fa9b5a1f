"""The tables of the matrix: their rows and keys. To add a table, add a row here."""

from __future__ import annotations

from typing import Any

from gpudoctor.frameworks import CATALOGUE
from gpudoctor.matrix.rows import (
    Bound,
    Chip,
    CpuNeed,
    CudaRelease,
    CudnnRelease,
    DriverBranch,
    DriverPackage,
    Engine,
    Fault,
    FrameworkRelease,
    GpuNeed,
    GpuProduct,
    NoGpuCode,
    PythonSpan,
    RequirementSpan,
    Source,
    Sxid,
    TorchBuild,
    Xid,
)
from gpudoctor.matrix.table import Table

SOURCE_TABLE: Table[Source] = Table(name="sources", row=Source, key=lambda row: row.id)
CUDA: Table[CudaRelease] = Table(name="cuda", row=CudaRelease, key=lambda row: row.release)
DRIVERS: Table[DriverBranch] = Table(name="drivers", row=DriverBranch, key=lambda row: row.branch)
DRIVER_PACKAGES: Table[DriverPackage] = Table(name="driver_packages", row=DriverPackage, key=lambda row: (row.system, row.package))


def _framework(name: str) -> Table[FrameworkRelease]:
    return Table(name=name, row=FrameworkRelease, key=lambda row: (row.distribution, row.release, row.platform))


RELEASES = {spec.name: _framework(spec.name) for spec in CATALOGUE if spec.tabled}
"""The published wheels of each framework and its parts, by name."""
OTHERS = _framework("others")
WHEELS = (*RELEASES.values(), OTHERS)

TORCH_BUILDS: Table[TorchBuild] = Table(name="torch_builds", row=TorchBuild, key=lambda row: (row.release, row.platform, row.local))
FAULTS: Table[Fault] = Table(name="faults", row=Fault, key=lambda row: (row.distribution, row.first, row.fault))
CUDNN: Table[CudnnRelease] = Table(name="cudnn", row=CudnnRelease, key=lambda row: (row.release, row.cuda, row.platform))
GPUS: Table[GpuProduct] = Table(name="gpus", row=GpuProduct, key=lambda row: row.name.casefold())
CHIPS: Table[Chip] = Table(name="chips", row=Chip, key=lambda row: row.first)
XIDS: Table[Xid] = Table(name="xid", row=Xid, key=lambda row: row.code)
SXIDS: Table[Sxid] = Table(name="sxid", row=Sxid, key=lambda row: row.code)
ENGINES: Table[Engine] = Table(name="engines", row=Engine, key=lambda row: (row.engine, row.release))
CPU: Table[CpuNeed] = Table(name="cpu", row=CpuNeed, key=lambda row: (row.distribution, row.release))
GPU_NEEDS: Table[GpuNeed] = Table(name="gpu_needs", row=GpuNeed, key=lambda row: (row.distribution, row.release))
BOUNDS: Table[Bound] = Table(name="bounds", row=Bound, key=lambda row: (row.package, row.bound))
NO_GPU_CODE: Table[NoGpuCode] = Table(name="no_gpu_code", row=NoGpuCode, key=lambda row: (row.distribution,))

TABLE_OF = {distribution: RELEASES[spec.name] for spec in CATALOGUE for distribution in spec.tabled}
"""The table of each distribution, by its normalised name; others may be in OTHERS."""

PYTHONS: Table[PythonSpan] = Table(name="pythons", row=PythonSpan, key=lambda row: (row.distribution, row.python))

REQUIREMENTS: Table[RequirementSpan] = Table(
    name="requirements", row=RequirementSpan, key=lambda row: (row.distribution, row.package, row.requirement, row.first)
)

ALL: tuple[Table[Any], ...] = (
    SOURCE_TABLE,
    CUDA,
    CUDNN,
    DRIVERS,
    DRIVER_PACKAGES,
    *WHEELS,
    TORCH_BUILDS,
    FAULTS,
    GPUS,
    CHIPS,
    XIDS,
    SXIDS,
    ENGINES,
    CPU,
    GPU_NEEDS,
    NO_GPU_CODE,
    PYTHONS,
    REQUIREMENTS,
    BOUNDS,
)
