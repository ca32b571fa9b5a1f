"""Which facts of a text speak for one cause of a driver that does not start, or starts without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.gpu_code import capability
from gpudoctor.diagnose.advice.driver_packages import BLACKWELL, TURING
from gpudoctor.diagnose.words import Words
from gpudoctor.findings import Evidence
from gpudoctor.matrix import DriverBranch
from gpudoctor.snapshot import KernelDriver
from gpudoctor.versions import Version


def _of_other_branches(unfit: Callable[[Version, DriverBranch], bool]) -> Callable[[MachineView, str], Iterator[Evidence]]:
    """Return what yields a GPU that the driver's branch does not support."""

    def ask(machine: MachineView, _: str) -> Iterator[Evidence]:
        driver = machine.driver_or_missing
        branch = machine.matrix.driver(driver.version) if isinstance(driver, Driver) else None
        for place in _capabilities(machine) if branch else ():
            if branch and unfit(place, branch):
                yield Evidence("compute capability", f"{place.short}; driver {branch.branch} does not support it", "matrix")

    return ask


def _capabilities(machine: MachineView) -> Iterator[Version]:
    yield from filter(None, (capability(gpu, machine.matrix) for gpu in machine.hardware))


def _is_older(place: Version, branch: DriverBranch) -> bool:
    return branch.oldest_capability is not None and place < branch.oldest_capability


def _is_newer(place: Version, branch: DriverBranch) -> bool:
    return branch.newest_capability is not None and place > branch.newest_capability


def _has_open_modules(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield that the open kernel modules are loaded: the text says so, or the GPU needs them."""
    driver = machine.observed.kernel_driver
    if isinstance(driver, KernelDriver) and driver.flavour == "open":
        yield Words("kernel modules", "open", "the text")
    for place in _capabilities(machine):
        if place >= BLACKWELL:
            yield Words("compute capability", f"{place.short}, which needs the open kernel modules", "the text")


_dropped = _of_other_branches(_is_older)


def _is_too_old(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU that the driver's branch has dropped, or that its open modules never supported."""
    yield from _dropped(machine, text)
    driver = machine.observed.kernel_driver
    if isinstance(driver, KernelDriver) and driver.flavour == "open":
        for place in _capabilities(machine):
            if place < TURING:
                yield Words("compute capability", f"{place.short}, which the open kernel modules do not support", "the text")


DRIVER: dict[str, Callable[[MachineView, str], Iterator[Evidence]]] = {
    "driver-too-new-for-gpu": _is_too_old,
    "gpu-too-new-for-driver": _of_other_branches(_is_newer),
    "uvm-hmm-init-failure": _has_open_modules,
}
"""Causes, and what yields a fact that speaks for each."""
