"""The other drivers that a machine could have."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.tables import CUDA, DRIVERS
from gpudoctor.plan.assumed_machine import AssumedMachine
from gpudoctor.snapshot import Fact, KernelDriver


class OtherDriver(msgspec.Struct, frozen=True):
    """A driver that could be installed."""

    version: str
    """What rules compare."""
    text: str
    """A version, or a branch if it is older than the installed one."""
    older: bool = False


def other_drivers(machine: AssumedMachine, matrix: Matrix) -> Iterator[OtherDriver]:
    """Yield newer drivers at which a CUDA release begins to work, oldest first, then older branches, newest first.

    On a machine without a driver every one is newer.
    """
    driver = machine.kernel_driver
    own = versions.parse_version(driver.version.value) if isinstance(driver, KernelDriver) and isinstance(driver.version, Fact) else None
    for floor in sorted(_driver_floors(matrix, windows=machine.platform.startswith("win"))):
        if own is None or floor > own:
            yield OtherDriver(str(floor), str(floor))
    for row in reversed(matrix.rows(DRIVERS)):
        if own is not None and row.branch < own.major:
            yield OtherDriver(f"{row.branch}.999", str(row.branch), older=True)


def _driver_floors(matrix: Matrix, *, windows: bool) -> set[versions.Version]:
    """Return the oldest drivers of all CUDA releases."""
    rows = matrix.rows(CUDA)
    on_windows = (floor for row in rows for floor in (row.driver_windows, row.minor_driver_windows))
    on_linux = (floor for row in rows for floor in (row.driver_linux, row.minor_driver_linux))
    return {floor for floor in (on_windows if windows else on_linux) if floor is not None}
