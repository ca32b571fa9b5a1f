"""The tables of the matrix: their rows and keys. To add a table, add a row here."""

from __future__ import annotations

from typing import Any

from gpudoctor.frameworks import CATALOGUE
from gpudoctor.matrix import machine_rows, rows
from gpudoctor.matrix.table import Table

SOURCE_TABLE = Table(name="sources", row=rows.Source, key=lambda row: row.id)
CUDA = Table(name="cuda", row=rows.CudaRelease, key=lambda row: row.release)
DRIVERS = Table(name="drivers", row=machine_rows.DriverBranch, key=lambda row: row.branch)
DRIVER_PACKAGES = Table(name="driver_packages", row=machine_rows.DriverPackage, key=lambda row: (row.system, row.package))


def _framework_table(name: str) -> Table[rows.FrameworkRelease]:
    return Table(name=name, row=rows.FrameworkRelease, key=lambda row: (row.distribution, row.release, row.platform), joined=True)


RELEASE_TABLES = {spec.name: _framework_table(spec.name) for spec in CATALOGUE if spec.tabled}
"""The published wheels of each framework and its parts, by name."""
OTHER_RELEASES = _framework_table("others")
WHEEL_TABLES = (*RELEASE_TABLES.values(), OTHER_RELEASES)

TORCH_BUILDS = Table(name="torch_builds", row=rows.TorchBuild, key=lambda row: (row.release, row.platform, row.local))
FAULTS = Table(name="faults", row=rows.Fault, key=lambda row: (row.distribution, row.first, row.fault))
NEEDED_COMPANIONS = Table(name="beside", row=rows.Companion, key=lambda row: (row.distribution, row.first, row.beside))
CUDNN = Table(name="cudnn", row=rows.CudnnRelease, key=lambda row: (row.release, row.cuda, row.platform))
GPUS = Table(name="gpus", row=machine_rows.GpuProduct, key=lambda row: row.name.casefold())
CHIPS = Table(name="chips", row=machine_rows.Chip, key=lambda row: row.first)
XIDS = Table(name="xid", row=machine_rows.Xid, key=lambda row: row.code)
SXIDS = Table(name="sxid", row=machine_rows.Sxid, key=lambda row: row.code)
ENGINES = Table(name="engines", row=rows.ContainerEngine, key=lambda row: (row.engine, row.release))
CPU_NEEDS = Table(name="cpu", row=rows.CpuNeed, key=lambda row: (row.distribution, row.release))
GPU_NEEDS = Table(name="gpu_needs", row=rows.GpuNeed, key=lambda row: (row.distribution, row.release))
BOUNDS = Table(name="bounds", row=rows.Bound, key=lambda row: (row.package, row.bound))
NO_GPU_CODE = Table(name="no_gpu_code", row=rows.NoGpuCode, key=lambda row: (row.distribution,))

TABLE_OF = {distribution: RELEASE_TABLES[spec.name] for spec in CATALOGUE for distribution in spec.tabled}
"""The table of each distribution, by its normalised name; others may be in OTHERS."""

PYTHONS = Table(name="pythons", row=rows.PythonSpan, key=lambda row: (row.distribution, row.python))

WHEEL_TAGS = Table(name="tags", row=rows.WheelTags, key=lambda row: (row.distribution, row.platform, row.release))
YANKED = Table(name="yanked", row=rows.Withdrawn, key=lambda row: (row.distribution,))
SYSTEMS = Table(name="systems", row=machine_rows.System, key=lambda row: row.system)

REQUIREMENTS = Table(
    name="requirements", row=rows.RequirementSpan, key=lambda row: (row.distribution, row.package, row.requirement, row.first)
)

ALL_TABLES: tuple[Table[Any], ...] = (
    SOURCE_TABLE,
    CUDA,
    CUDNN,
    DRIVERS,
    DRIVER_PACKAGES,
    *WHEEL_TABLES,
    TORCH_BUILDS,
    FAULTS,
    NEEDED_COMPANIONS,
    GPUS,
    CHIPS,
    XIDS,
    SXIDS,
    ENGINES,
    CPU_NEEDS,
    GPU_NEEDS,
    NO_GPU_CODE,
    PYTHONS,
    WHEEL_TAGS,
    YANKED,
    SYSTEMS,
    REQUIREMENTS,
    BOUNDS,
)
