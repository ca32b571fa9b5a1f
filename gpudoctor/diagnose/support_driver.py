"""Which facts of a text speak for one cause of a driver that does not start, or starts without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.gpu_code import capability
from gpudoctor.diagnose.advice.driver_packages import BLACKWELL, TURING
from gpudoctor.diagnose.text_facts import Ask, Asks, Words
from gpudoctor.findings import Evidence
from gpudoctor.matrix import DriverBranch
from gpudoctor.versions import Version


def _of_other_branches(unfit: Callable[[Version, DriverBranch], bool]) -> Ask:
    """Return what yields a GPU that the driver's branch does not support."""

    def ask(machine: MachineView, _: str) -> Iterator[Evidence]:
        branch = machine.matrix.driver(machine.driver.version)
        for place in _capabilities(machine):
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
    if machine.kernel_driver.flavour == "open":
        yield Words("kernel modules", "open", "the text")


def _needs_open_modules(machine: MachineView, _: str) -> Iterator[Evidence]:
    for place in _capabilities(machine):
        if place >= BLACKWELL:
            yield Words("compute capability", f"{place.short}, which needs the open kernel modules", "the text")


def _is_unknown_to_open_modules(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a GPU that the open kernel modules never supported."""
    if machine.kernel_driver.flavour == "open":
        for place in _capabilities(machine):
            if place < TURING:
                yield Words("compute capability", f"{place.short}, which the open kernel modules do not support", "the text")


DRIVER: Asks = {
    "driver-too-new-for-gpu": (_of_other_branches(_is_older), _is_unknown_to_open_modules),
    "gpu-too-new-for-driver": (_of_other_branches(_is_newer),),
    "uvm-hmm-init-failure": (_has_open_modules, _needs_open_modules),
}
