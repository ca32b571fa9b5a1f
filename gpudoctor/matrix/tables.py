"""The tables of the matrix: their columns, in file order, and their keys. To add a table, add a row here."""

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
    Source,
    Sxid,
    TorchBuild,
    Xid,
)
from gpudoctor.matrix.table import (
    ACCELERATOR,
    ARCHITECTURES,
    BOUND,
    BRANCH_KIND,
    CODE,
    DATE,
    DECIMAL,
    FAULT,
    GPU_KIND,
    MODULES,
    MONTH,
    NAMES,
    NUMBER,
    ORIGIN,
    PCI_ID,
    PLATFORM,
    RELEASE,
    REQUIRED,
    SOURCES,
    TEXT,
    VERSION,
    VERSIONS,
    WORDS,
    Table,
    optional,
)

SOURCE_TABLE: Table[Source] = Table(
    name="sources",
    row=Source,
    columns={"id": REQUIRED, "title": REQUIRED, "url": TEXT, "read": DATE},
    key=lambda row: row.id,
)

CUDA: Table[CudaRelease] = Table(
    name="cuda",
    row=CudaRelease,
    columns={
        "release": VERSION,
        "driver_linux": optional(VERSION),
        "driver_windows": optional(VERSION),
        "minor_driver_linux": optional(VERSION),
        "minor_driver_windows": optional(VERSION),
        "sass": optional(ARCHITECTURES),
        "ptx_isa": optional(VERSION),
        "host_gcc": optional(NUMBER),
        "sonames": WORDS,
        "components": WORDS,
        "source": SOURCES,
        "note": TEXT,
    },
    key=lambda row: row.release,
)

DRIVERS: Table[DriverBranch] = Table(
    name="drivers",
    row=DriverBranch,
    columns={
        "branch": NUMBER,
        "cuda_served": optional(VERSION),
        "oldest_capability": optional(VERSION),
        "newest_capability": optional(VERSION),
        "kind": optional(BRANCH_KIND),
        "modules": WORDS,
        "open_from": optional(VERSION),
        "open_only_from": optional(VERSION),
        "end_of_life": optional(MONTH),
        "compat_packages": optional(VERSIONS),
        "source": SOURCES,
        "note": TEXT,
    },
    key=lambda row: row.branch,
)

DRIVER_PACKAGES: Table[DriverPackage] = Table(
    name="driver_packages",
    row=DriverPackage,
    columns={
        "system": REQUIRED,
        "package": REQUIRED,
        "version": optional(VERSION),
        "modules": MODULES,
        "newest_kernel": optional(VERSION),
        "origin": ORIGIN,
        "source": SOURCES,
        "note": TEXT,
    },
    key=lambda row: (row.system, row.package),
)

_FRAMEWORK_COLUMNS = {
    "distribution": REQUIRED,
    "release": RELEASE,
    "platform": PLATFORM,
    "pythons": WORDS,
    "accelerator": ACCELERATOR,
    "built_with_cuda": optional(VERSION),
    "cudnn": optional(VERSION),
    "sass": optional(ARCHITECTURES),
    "ptx": optional(ARCHITECTURES),
    "requires": WORDS,
    "numpy_abi": optional(NUMBER),
    "builds": WORDS,
    "unreachable": optional(NAMES),
    "source": SOURCES,
    "note": TEXT,
}


def _framework(name: str) -> Table[FrameworkRelease]:
    return Table(name=name, row=FrameworkRelease, columns=_FRAMEWORK_COLUMNS, key=lambda row: (row.distribution, row.release, row.platform))


RELEASES = {spec.name: _framework(spec.name) for spec in CATALOGUE if spec.tabled}
"""The published wheels of each framework and its parts, by name."""
OTHERS = _framework("others")
WHEELS = (*RELEASES.values(), OTHERS)

TORCH_BUILDS: Table[TorchBuild] = Table(
    name="torch_builds",
    row=TorchBuild,
    columns={
        "release": VERSION,
        "platform": PLATFORM,
        "local": REQUIRED,
        "cudnn": optional(VERSION),
        "sass": optional(ARCHITECTURES),
        "ptx": optional(ARCHITECTURES),
        "source": SOURCES,
        "note": TEXT,
    },
    key=lambda row: (row.release, row.platform, row.local),
)

FAULTS: Table[Fault] = Table(
    name="faults",
    row=Fault,
    columns={
        "distribution": REQUIRED,
        "first": RELEASE,
        "last": RELEASE,
        "fault": FAULT,
        "oldest_capability": optional(VERSION),
        "platform": PLATFORM,
        "source": SOURCES,
        "note": TEXT,
    },
    key=lambda row: (row.distribution, row.first, row.fault),
)

CUDNN: Table[CudnnRelease] = Table(
    name="cudnn",
    row=CudnnRelease,
    columns={
        "release": VERSION,
        "cuda": NUMBER,
        "platform": PLATFORM,
        "soname": REQUIRED,
        "sass": optional(ARCHITECTURES),
        "ptx": optional(ARCHITECTURES),
        "source": SOURCES,
        "note": TEXT,
    },
    key=lambda row: (row.release, row.cuda, row.platform),
)

GPUS: Table[GpuProduct] = Table(
    name="gpus",
    row=GpuProduct,
    columns={
        "name": REQUIRED,
        "aliases": WORDS,
        "kind": GPU_KIND,
        "compute_capability": VERSION,
        "architecture": REQUIRED,
        "memory_gib": optional(DECIMAL),
        "bandwidth_gbs": optional(DECIMAL),
        "fp32_tflops": optional(DECIMAL),
        "tf32_tflops": optional(DECIMAL),
        "bf16_tflops": optional(DECIMAL),
        "fp16_tflops": optional(DECIMAL),
        "source": SOURCES,
        "note": TEXT,
    },
    key=lambda row: row.name.casefold(),
)

CHIPS: Table[Chip] = Table(
    name="chips",
    row=Chip,
    columns={
        "first": PCI_ID,
        "last": PCI_ID,
        "architecture": REQUIRED,
        "compute_capability": VERSION,
        "source": SOURCES,
        "note": TEXT,
    },
    key=lambda row: row.first,
)

XIDS: Table[Xid] = Table(
    name="xid",
    row=Xid,
    columns={"code": NUMBER, "mnemonic": REQUIRED, "meaning": REQUIRED, "action": TEXT, "source": SOURCES, "note": TEXT},
    key=lambda row: row.code,
)

SXIDS: Table[Sxid] = Table(
    name="sxid",
    row=Sxid,
    columns={"code": NUMBER, "meaning": REQUIRED, "severity": REQUIRED, "source": SOURCES, "note": TEXT},
    key=lambda row: row.code,
)

ENGINES: Table[Engine] = Table(
    name="engines",
    row=Engine,
    columns={"engine": REQUIRED, "release": VERSION, "cdi": VERSION, "source": SOURCES, "note": TEXT},
    key=lambda row: (row.engine, row.release),
)

CPU: Table[CpuNeed] = Table(
    name="cpu",
    row=CpuNeed,
    columns={"distribution": REQUIRED, "release": VERSION, "features": WORDS, "source": SOURCES, "note": TEXT},
    key=lambda row: (row.distribution, row.release),
)

GPU_NEEDS: Table[GpuNeed] = Table(
    name="gpu_needs",
    row=GpuNeed,
    columns={"distribution": REQUIRED, "release": VERSION, "oldest_capability": VERSION, "source": SOURCES, "note": TEXT},
    key=lambda row: (row.distribution, row.release),
)

BOUNDS: Table[Bound] = Table(
    name="bounds",
    row=Bound,
    columns={"package": REQUIRED, "bound": BOUND, "version": VERSION, "source": SOURCES, "note": TEXT},
    key=lambda row: (row.package, row.bound),
)

NO_GPU_CODE: Table[NoGpuCode] = Table(
    name="no_gpu_code",
    row=NoGpuCode,
    columns={"distribution": REQUIRED, "kind": CODE, "source": SOURCES, "note": TEXT},
    key=lambda row: (row.distribution,),
)

TABLE_OF = {distribution: RELEASES[spec.name] for spec in CATALOGUE for distribution in spec.tabled}
"""The table of each distribution, by its normalised name; others may be in OTHERS."""

PYTHONS: Table[PythonSpan] = Table(
    name="pythons",
    row=PythonSpan,
    columns={
        "distribution": REQUIRED,
        "python": VERSION,
        "first": VERSION,
        "last": optional(VERSION),
        "source": SOURCES,
        "note": TEXT,
    },
    key=lambda row: (row.distribution, row.python),
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
    BOUNDS,
)
