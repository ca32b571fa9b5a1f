"""Which facts of a text speak for one cause of a driver that does not start, or starts without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpudoctor import versions
from gpudoctor.derive import MachineView, require_known
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.gpu_code import compute_capability
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.diagnose.advice.driver_packages import BLACKWELL, TURING
from gpudoctor.diagnose.cause_exclusion import is_about_other_module
from gpudoctor.diagnose.support_libraries import stated_cuda
from gpudoctor.diagnose.text_evidence import EvidenceByCause, EvidenceSource, TextEvidence
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.matrix import DriverBranch, Matrix
from gpudoctor.signatures.drivers import REFUSED_CALL
from gpudoctor.snapshot import Platform
from gpudoctor.versions import Version


def _gpus_outside_branch(unfit: Callable[[Version, DriverBranch, Matrix], bool]) -> EvidenceSource:
    """Return what yields a GPU that the driver's branch does not support."""

    def ask(machine: MachineView, _: str) -> Iterator[Evidence]:
        branch = machine.matrix.driver(machine.driver.version)
        for place in _gpu_capabilities(machine):
            if branch and unfit(place, branch, machine.matrix):
                yield Evidence("compute capability", f"{place.short}; driver {branch.branch} does not support it", "matrix")

    return ask


def _gpu_capabilities(machine: MachineView) -> Iterator[Version]:
    yield from filter(None, (compute_capability(gpu, machine.matrix) for gpu in machine.hardware))


def _is_older_than_branch(place: Version, branch: DriverBranch, _: Matrix) -> bool:
    return branch.oldest_capability is not None and place < branch.oldest_capability


def _is_newer_than_branch(place: Version, branch: DriverBranch, matrix: Matrix) -> bool:
    return matrix.predates(branch, place)


def _open_modules(machine: MachineView, _: str) -> Iterator[Evidence]:
    if machine.kernel_driver.flavour == "open":
        yield TextEvidence("kernel modules", "open", "the text")


def _gpus_needing_open_modules(machine: MachineView, _: str) -> Iterator[Evidence]:
    for place in _gpu_capabilities(machine):
        if place >= BLACKWELL:
            yield TextEvidence("compute capability", f"{place.short}, which needs the open kernel modules", "the text")


def _gpus_with_wrong_modules(machine: MachineView, text: str) -> Iterator[Evidence]:
    if machine.kernel_driver.flavour == "proprietary":
        yield from _gpus_needing_open_modules(machine, text)


_NO_DEVICES = expression(r"(?i)\bno devices (?:were )?found\b")


def _gpus_with_unlisted_modules(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU that needs the open kernel modules, if the loaded modules, of a kind that the text does not state, list none."""
    if _NO_DEVICES.search(text) and machine.kernel.installed_flavour != "open":
        yield from _gpus_needing_open_modules(machine, text)


def _gpus_without_open_support(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a GPU that the open kernel modules never supported."""
    if machine.kernel_driver.flavour == "open":
        for place in _gpu_capabilities(machine):
            if place < TURING:
                yield TextEvidence("compute capability", f"{place.short}, which the open kernel modules do not support", "the text")


def _driver_older_than_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the driver if it is too old for the CUDA that is installed, for which people choose a build, and the text does not name the build's."""
    driver = machine.driver.version
    builds = [framework.cuda_or_missing for framework in machine.frameworks]
    if machine.site.on_wsl or any(isinstance(build, EffectiveCuda) for build in builds):
        return
    said = stated_cuda(text)
    stated = versions.parse_version(f"{said[0]}.{said[1] or 0}") if said else None
    cudas = [version for version, _ in system_cudas(machine.known_toolkits)] or ([stated] if stated else [])
    system = "windows" if machine.site.platform == Platform.WINDOWS else "linux"
    floors = [machine.matrix.driver_floor(cuda, system) for cuda in cudas]
    least = [floor.minor_version_floor or floor.exact for floor in floors if floor]
    if least and len(least) == len(cudas) and all(version is not None and driver < version for version in least):
        yield Evidence("driver", f"{driver}, too old for the installed CUDA {cudas[0].short}", machine.driver.where)


_COMPAT_FOLDER = expression(r"/compat(?:_\w{1,20})?/")
"""The folder of NVIDIA's cuda-compat packages: https://docs.nvidia.com/deploy/cuda-compatibility/"""


def _cached_compat_library(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield the libcuda that the loader's cache lists first, if it is that of a cuda-compat package."""
    files = [path for path in require_known(machine.observed.loader_cache).driver_files if path.endswith("/libcuda.so.1")]
    if files and _COMPAT_FOLDER.search(files[0]):
        yield Evidence("libcuda.so.1", files[0], "ldconfig -p")


_REFUSED_CALL = expression(REFUSED_CALL)


def _driver_without_newer_calls(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the driver, if a call was refused, and the program is for a newer CUDA of the same major version than the driver serves."""
    driver = machine.driver
    builds = [cuda.version for one in machine.frameworks if isinstance(cuda := one.cuda_or_missing, EffectiveCuda)]
    used = [*builds, *(version for version, _ in system_cudas(machine.known_toolkits))]
    served = driver.cuda_served
    if not isinstance(served, Version) or not _REFUSED_CALL.search(text):
        return
    for version in used:
        if served.major == version.major and served[:2] < version[:2]:
            yield Evidence("driver", f"{driver.version} serves CUDA {served.short}, and the program is for {version.short}", driver.where)


_REJECTED_MODULE = expression(
    r"(?:\b(?P<module>[a-z][\w-]{2,30}): )?(?:[Ll]oading of )?(?:unsigned module|module with (?:unavailable key|unsupported crypto)) is rejected"
    r"|unsigned module loading is restricted"
)
_OWN_MODULES = ("kernel", "nvidia", "modprobe")


def _rejected_module(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield what the kernel says of a module without a signature that it trusts, unless the log names one that is not NVIDIA's."""
    found = _REJECTED_MODULE.search(text)
    if found and (found["module"] or "kernel").startswith(_OWN_MODULES) and not is_about_other_module(machine):
        yield TextEvidence("kernel", found[0], "the log")


DRIVER_FACTS: EvidenceByCause = {
    "secure-boot-unsigned-module": (_rejected_module,),
    "driver-too-old": (_driver_older_than_cuda, _driver_without_newer_calls),
    "cuda-compat-lib-conflict": (_cached_compat_library,),
    "driver-too-new-for-gpu": (_gpus_outside_branch(_is_older_than_branch), _gpus_without_open_support),
    "gpu-too-new-for-driver": (_gpus_outside_branch(_is_newer_than_branch), _gpus_with_wrong_modules, _gpus_with_unlisted_modules),
    "uvm-hmm-init-failure": (_open_modules, _gpus_needing_open_modules),
}
