"""Checks across tables, beyond those within a row."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.matrix import gpu_names
from gpudoctor.matrix.lookup import Matrix
from gpudoctor.matrix.tables import (
    ALL_TABLES,
    CHIPS,
    CUDA,
    CUDNN,
    DRIVERS,
    GPUS,
    NEEDED_COMPANIONS,
    RELEASE_TABLES,
    REQUIREMENTS,
    SOURCE_TABLE,
    WHEEL_TABLES,
)


def table_contradictions(matrix: Matrix) -> Iterator[str]:
    """Each contradiction between rows or tables, as a sentence; none in tables that may be shipped."""
    yield from _source_problems(matrix)
    yield from _cuda_problems(matrix)
    yield from _cudnn_problems(matrix)
    yield from _unreachable_problems(matrix)
    yield from _requirement_problems(matrix)
    yield from _gpu_problems(matrix)
    yield from _chip_problems(matrix)


def _source_problems(matrix: Matrix) -> Iterator[str]:
    known = {source.id for source in matrix.rows(SOURCE_TABLE)}
    used: set[str] = set()
    for table in ALL_TABLES[1:]:
        for row in matrix.rows(table):
            used.update(row.source)
            yield from (
                f"{table.name}.csv names the source {name}, which is not in sources.csv." for name in row.source if name not in known
            )
    yield from (f"sources.csv has {name}, which no table uses." for name in sorted(known - used))


def _cuda_problems(matrix: Matrix) -> Iterator[str]:
    for row in matrix.rows(CUDA):
        floors = ((row.driver_linux, row.minor_driver_linux), (row.driver_windows, row.minor_driver_windows))
        for exact, minor in floors:
            if exact is not None and minor is not None and minor > exact:
                yield f"CUDA {row.release} has a minor-version floor {minor} above its own driver {exact}."
    served = {row.cuda_served.short for row in matrix.rows(DRIVERS) if row.cuda_served}
    built = {row.built_with_cuda for table in RELEASE_TABLES.values() for row in matrix.rows(table) if row.built_with_cuda}
    for version in sorted(built):
        if matrix.cuda(version) is None and version.minor:
            yield f"A framework is built with CUDA {version}, which is not in cuda.csv."
        if version.minor and version.short not in served:
            yield f"A framework is built with CUDA {version}, which no branch in drivers.csv supports."


def _unreachable_problems(matrix: Matrix) -> Iterator[str]:
    for table in WHEEL_TABLES:
        for row in matrix.rows(table):
            required = {re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in row.requires}
            strange = set(row.unreachable or ()) - required
            yield from (
                f"{row.distribution} {row.release} lists {name} as unreachable but does not require it." for name in sorted(strange)
            )


def _cudnn_problems(matrix: Matrix) -> Iterator[str]:
    majors = {row.release.major for row in matrix.rows(CUDA)}
    for row in matrix.rows(CUDNN):
        if row.cuda not in majors:
            yield f"cuDNN {row.release} is for CUDA {row.cuda}, which is not in cuda.csv."


def _requirement_problems(matrix: Matrix) -> Iterator[str]:
    for row in matrix.rows(REQUIREMENTS):
        if re.split(r"[^\w.-]", row.requirement, maxsplit=1)[0] != row.package or row.first > row.last:
            yield f"{row.distribution}'s {row.requirement} in requirements.csv is not about {row.package}, or its releases are reversed."
    for companion in matrix.rows(NEEDED_COMPANIONS):
        if companion.first > companion.last or not companion.needs:
            yield f"{companion.distribution} in beside.csv needs nothing, or its releases are reversed."


def _gpu_problems(matrix: Matrix) -> Iterator[str]:
    seen: dict[str, str] = {}
    for product in matrix.rows(GPUS):
        for name in gpu_names.product_keys(product):
            if name in seen:
                yield f"{product.name} and {seen[name]} in gpus.csv are both called {name}."
            seen[name] = product.name


def _chip_problems(matrix: Matrix) -> Iterator[str]:
    before = -1
    for row in matrix.rows(CHIPS):
        if not before < row.first <= row.last:
            yield f"The PCI ids {row.first:04x} to {row.last:04x} in chips.csv are reversed or overlap with the previous row."
        before = row.last
