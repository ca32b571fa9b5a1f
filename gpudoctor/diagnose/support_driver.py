"""Which facts of a text speak for one cause of a driver that does not start, or starts without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpudoctor import versions
from gpudoctor.derive import MachineView
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.gpu_code import capability
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.diagnose.advice.driver_packages import BLACKWELL, TURING
from gpudoctor.diagnose.support_libraries import stated_cuda
from gpudoctor.diagnose.text_facts import Ask, Asks, Words
from gpudoctor.findings import Evidence
from gpudoctor.matrix import DriverBranch
from gpudoctor.snapshot import Platform
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


def _has_proprietary_modules(machine: MachineView, text: str) -> Iterator[Evidence]:
    if machine.kernel_driver.flavour == "proprietary":
        yield from _needs_open_modules(machine, text)


def _is_unknown_to_open_modules(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a GPU that the open kernel modules never supported."""
    if machine.kernel_driver.flavour == "open":
        for place in _capabilities(machine):
            if place < TURING:
                yield Words("compute capability", f"{place.short}, which the open kernel modules do not support", "the text")


def _older_than_installed_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the driver if it is too old for the CUDA that is installed, for which people choose a build, and the text does not name the build's."""
    driver = machine.driver.version
    builds = [framework.cuda_or_missing for framework in machine.frameworks]
    if machine.site.on_wsl or any(isinstance(build, EffectiveCuda) for build in builds):
        return
    said = stated_cuda(text)
    stated = versions.parse(f"{said[0]}.{said[1] or 0}") if said else None
    cudas = [version for version, _ in system_cudas(machine.known_toolkits)] or ([stated] if stated else [])
    system = "windows" if machine.site.platform == Platform.WINDOWS else "linux"
    floors = [machine.matrix.driver_floor(cuda, system) for cuda in cudas]
    least = [floor.minor_version_floor or floor.exact for floor in floors if floor]
    if least and len(least) == len(cudas) and all(version is not None and driver < version for version in least):
        yield Evidence("driver", f"{driver}, too old for the installed CUDA {cudas[0].short}", machine.driver.where)


DRIVER: Asks = {
    "driver-too-old": (_older_than_installed_cuda,),
    "driver-too-new-for-gpu": (_of_other_branches(_is_older), _is_unknown_to_open_modules),
    "gpu-too-new-for-driver": (_of_other_branches(_is_newer), _has_proprietary_modules),
    "uvm-hmm-init-failure": (_has_open_modules, _needs_open_modules),
}
