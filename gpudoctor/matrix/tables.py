"""The tables of the matrix: their columns, in the order of the files, and their keys. A new table is a row here."""

from __future__ import annotations

from typing import Any

from gpudoctor.matrix.rows import Chip, CudaRelease, DriverBranch, FrameworkRelease, GpuProduct, Source, Xid
from gpudoctor.matrix.table import (
    ACCELERATOR,
    ARCHITECTURES,
    DATE,
    GIB,
    NUMBER,
    PCI_ID,
    RELEASE,
    REQUIRED,
    SOURCES,
    TEXT,
    VERSION,
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
        "source": SOURCES,
        "note": TEXT,
    },
    key=lambda row: row.branch,
)

_FRAMEWORK_COLUMNS = {
    "distribution": REQUIRED,
    "release": RELEASE,
    "platform": REQUIRED,
    "pythons": WORDS,
    "accelerator": ACCELERATOR,
    "built_with_cuda": optional(VERSION),
    "cudnn": optional(VERSION),
    "sass": optional(ARCHITECTURES),
    "ptx": optional(ARCHITECTURES),
    "requires": WORDS,
    "builds": WORDS,
    "source": SOURCES,
    "note": TEXT,
}


def _framework(name: str) -> Table[FrameworkRelease]:
    return Table(name=name, row=FrameworkRelease, columns=_FRAMEWORK_COLUMNS, key=lambda row: (row.distribution, row.release, row.platform))


TENSORFLOW = _framework("tensorflow")
TORCH = _framework("torch")

GPUS: Table[GpuProduct] = Table(
    name="gpus",
    row=GpuProduct,
    columns={
        "name": REQUIRED,
        "aliases": WORDS,
        "compute_capability": VERSION,
        "architecture": REQUIRED,
        "memory_gib": optional(GIB),
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

FRAMEWORK_OF = {"tensorflow": TENSORFLOW, "tensorflow-cpu": TENSORFLOW, "tensorflow-gpu": TENSORFLOW, "torch": TORCH}
"""The table that holds a distribution, by its normalised name."""

ALL: tuple[Table[Any], ...] = (SOURCE_TABLE, CUDA, DRIVERS, TENSORFLOW, TORCH, GPUS, CHIPS, XIDS)
