"""Which facts of a text speak for one cause of a build that does not run on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpudoctor import versions
from gpudoctor.conditions import FEATURES
from gpudoctor.derive import FrameworkView, MachineView
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.gpu_code import compute_capability
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.diagnose.text_evidence import EvidenceByCause, EvidenceSource, TextEvidence
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.frameworks.torch import TORCH
from gpudoctor.matrix import CudaRelease
from gpudoctor.matrix.tables import CHIPS, CUDA
from gpudoctor.signatures.builds import GPU_LEFT_UNUSED
from gpudoctor.snapshot import Fact, Platform
from gpudoctor.versions import Version

_OLDEST_IN_USE = 11
"""The oldest major version of CUDA that current frameworks are built for."""
_LIBRARY_ERROR = expression(r"\b(?:CUFFT|CUBLAS|CUSOLVER|CUSPARSE|CUDNN)_|\bcublas runtime error\b|\bTHCGeneral\b|\bBlas \w{0,10}GEM")


def _gpus_newer_than_build(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU that the CUDA in question does not know; if none is, one that not every CUDA of current frameworks knows.

    Kernels for an older GPU of the same generation run on it; a library that looks up the GPU may refuse it.
    """
    parts = 2 if _LIBRARY_ERROR.search(text) else 1
    builds = _cudas_of_frameworks(machine, at_least=True) or _cudas_of_releases(machine)
    for rows in (builds,) if builds else (_first_cuda_of_majors(machine), _installed_cudas(machine)):
        yield from _gpu_capabilities(machine, _is_newer_than(rows, parts))


def _is_newer_than(rows: Sequence[CudaRelease], parts: int) -> Callable[[Version], bool]:
    """Return what asks whether none of the CUDA releases knows a compute capability, compared in its first `parts` numbers."""
    return lambda place: bool(rows) and all(max(_capabilities_of_cuda(row))[:parts] < place[:parts] for row in rows)


_UNUSED_GPU = expression(GPU_LEFT_UNUSED)


def _gpus_using_ptx(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a GPU that is newer than the CUDA that the framework is built for, whose PTX it can run."""
    yield from _gpu_capabilities(machine, _is_newer_than(_cudas_of_frameworks(machine) or _cudas_of_releases(machine), 1))


_NAMED_LIBRARY = expression(r"(?i)\.so\b|\bdlls?\b|dlopen|\bcudart|\bcu[a-z]{3,8} (?:library|handle)")


def _builds_with_system_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a framework whose build opens CUDA's libraries where it finds them, on a machine with a GPU, if no line is about a library."""
    for framework in () if _NAMED_LIBRARY.search(text) or not machine.hardware else machine.frameworks:
        opens = not framework.spec.brings_cuda and framework.spec.plugin is None and isinstance(framework.observed.version, Fact)
        if opens and framework.observed.cuda_build is not False and framework.observed.sees_gpu is not True:
            yield Evidence("opens the installed CUDA libraries", framework.label, "matrix")


def _gpus_older_than_build(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU that the CUDA in question has dropped; if none is known, one that the newest CUDA has, or every CUDA in use if no kernel need have failed."""
    if not _cudas_of_frameworks(machine) and (_is_about_old_cuda(machine) or machine.site.platform == Platform.JETSON):
        return  # a Jetson has the CUDA of its JetPack
    in_use = [row for row in _cudas_with_kernels(machine) if row.release.major >= _OLDEST_IN_USE]
    rows = _cudas_of_frameworks(machine) or (in_use if _UNUSED_GPU.search(text) else in_use[-1:])
    yield from _gpu_capabilities(machine, lambda place: all(min(_capabilities_of_cuda(row)) > place for row in rows))


_OLDEST_FOR_CUDNN = Version(3, 0)
"""The lowest compute capability that cuDNN has ever had, and so the frameworks: https://github.com/pluskid/Mocha.jl/issues/57"""


def _is_about_old_cuda(machine: MachineView) -> bool:
    """Return whether the text is about CUDA or a framework from before what is in use, whose CUDA no table need have."""
    toolkits = [version.major for version, _ in system_cudas(machine.known_toolkits)]
    return any(major < _OLDEST_IN_USE for major in toolkits) or any(
        _is_older_than_tables(framework, machine) for framework in machine.frameworks
    )


def _is_older_than_tables(framework: FrameworkView, machine: MachineView) -> bool:
    """Return whether a release is older than every one in the tables."""
    rows, release = machine.matrix.releases(framework.name), versions.parse_version(framework.release)
    return bool(rows) and release is not None and release < rows[0].release


_FROM_CONDA = expression(r"\bconda\b[^\n]{0,120}\bpytorch\b|\bpytorch\b[^\n]{0,20}\bconda\b|\bpy[23][.\d]{1,4}_cuda\d")
_WITHOUT_KEPLER_SINCE = versions.Version(1, 3)
_OLDEST_IN_CONDA = versions.Version(3, 7)
"""The lowest compute capability of PyTorch's conda packages from _WITHOUT_KEPLER on; its wheels had 3.5 for longer: https://github.com/pytorch/pytorch/issues/24205"""


def _gpus_below_conda_build(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU that PyTorch's conda packages leave out and its wheels do not, if conda installed PyTorch."""
    releases = [versions.parse_version(framework.release) for framework in machine.frameworks if framework.name == TORCH.name]
    if _FROM_CONDA.search(text) and any(release and release >= _WITHOUT_KEPLER_SINCE for release in releases):
        yield from _gpu_capabilities(machine, lambda place: place < _OLDEST_IN_CONDA)


_LISTED_ARCHITECTURES = expression(r"(?i)\b(?:for|arch)\b:?(?P<several>(?:[ ,]{1,3}(?:sm_|compute_)?\d{2,3}\b){1,20})")
_OWN_ARCHITECTURE = expression(r"(?i)\bgpu is (?:sm_?)?(?P<own>\d{2,3})\b|\bin your current machine is (?P<generation>\w{5,12})\b")
_NVRTC_ARCHITECTURE = expression(r"-arch=compute_(?P<own>\d{2,3})\b")


def _own_and_listed_capabilities(machine: MachineView, text: str) -> Iterator[tuple[Version, list[Version]]]:
    """Yield a GPU's compute capability and those of a build, where one line names both; for NVRTC, of the CUDA releases that are installed."""
    for line in text.splitlines():
        own, listed = _OWN_ARCHITECTURE.search(line), _LISTED_ARCHITECTURES.search(line)
        place = _named_capability(own["own"], own["generation"], machine) if own and listed else None
        if place and listed:
            yield place, [_capability_of_digits(one) for one in _CAPABILITY_DIGITS.findall(listed["several"])]
    asked = _NVRTC_ARCHITECTURE.search(text)
    if asked:
        yield from ((_capability_of_digits(asked["own"]), _capabilities_of_cuda(row)) for row in _installed_cudas(machine))


_CAPABILITY_DIGITS = expression(r"\d{2,3}")


def _named_capability(digits: str | None, generation: str | None, machine: MachineView) -> Version | None:
    if digits:
        return _capability_of_digits(digits)
    chips = (row for row in machine.matrix.rows(CHIPS) if row.architecture == generation)
    return min((row.compute_capability for row in chips), default=None)


def _newer_than_listed(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the architecture of a GPU that is newer than all that its line lists."""
    for own, listed in _own_and_listed_capabilities(machine, text):
        if own > max(listed):
            yield TextEvidence("compute capability", own.short, "the log")


def _older_than_listed(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the architecture of a GPU that is older than all that its line lists."""
    for own, listed in _own_and_listed_capabilities(machine, text):
        if own < min(listed):
            yield TextEvidence("compute capability", own.short, "the log")


_REQUIRED_CAPABILITY = expression(
    r"(?i)\brequires?\b[^\n]{0,12}\b(?:(?:cuda |compute )?capability (?P<least>\d\.\d)|sm_?(?P<digits>\d{2,3}))\b"
)


def _gpus_below_requirement(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU below the compute capability that a sentence says a program requires."""
    if found := _REQUIRED_CAPABILITY.search(text):
        least = _capability_of_digits(found["digits"] or found["least"].replace(".", ""))
        yield from _gpu_capabilities(machine, lambda place: place < least)


def _gpus_older_than(first: Version) -> EvidenceSource:
    """Return what yields a GPU below this compute capability."""
    return lambda machine, _: _gpu_capabilities(machine, lambda place: place < first)


def _gpu_capabilities(machine: MachineView, fits: Callable[[Version], bool]) -> Iterator[Evidence]:
    for gpu in machine.hardware:
        place = compute_capability(gpu, machine.matrix)
        if place is not None and fits(place):
            yield TextEvidence("compute capability", place.short, "the text")


def _cudas_of_frameworks(machine: MachineView, *, at_least: bool = False) -> list[CudaRelease]:
    """Return the CUDA releases that the frameworks are built for; `at_least`: for one from before the tables the first release in them, which knows no fewer of the newer GPUs."""
    return _cuda_rows(machine, _versions_of_builds(machine), at_least=at_least)


def _cudas_of_releases(machine: MachineView) -> list[CudaRelease]:
    """Return the CUDA releases of the builds with CUDA that a framework's release has: what is slow on a GPU is none without."""
    found = dict.fromkeys(
        row.built_with_cuda
        for framework in machine.frameworks
        for package in framework.spec.distributions
        for row in machine.matrix.releases(package)
        if row.built_with_cuda and versions.is_release_named(row.release, framework.release)
    )
    return _cuda_rows(machine, list(found), at_least=True)


def _versions_of_builds(machine: MachineView) -> list[Version]:
    return [cuda.version for framework in machine.frameworks if isinstance(cuda := framework.cuda_or_missing, EffectiveCuda)]


_KNOWN_TO_EVERY_CUDA = Version(5, 2)
"""What CUDA 7.0 knows, for which the first TensorFlow of 2015 was built: MinVersionForCudaArch in clang's Cuda.cpp."""


def are_gpus_long_supported(machine: MachineView) -> bool:
    """Return whether the first CUDA of the tables, or any CUDA if a framework is from before them, already knows each GPU of a text that names no CUDA before it."""
    first, gpus = _cudas_with_kernels(machine)[0], [compute_capability(gpu, machine.matrix) for gpu in machine.hardware]
    named = (*_versions_of_builds(machine), *(version for version, _ in system_cudas(machine.known_toolkits)))
    newest = (
        _KNOWN_TO_EVERY_CUDA
        if any(_is_older_than_tables(framework, machine) for framework in machine.frameworks)
        else max(_capabilities_of_cuda(first))
    )
    return (
        bool(gpus) and all(place is not None and place <= newest for place in gpus) and all(version >= first.release for version in named)
    )


def _installed_cudas(machine: MachineView) -> list[CudaRelease]:
    """Return the CUDA releases that are installed, for which people choose builds, or for old ones the first in the tables."""
    return _cuda_rows(machine, [version for version, _ in system_cudas(machine.known_toolkits)], at_least=True)


def _cuda_rows(machine: MachineView, found: Sequence[Version], *, at_least: bool) -> list[CudaRelease]:
    first = next(iter(_cudas_with_kernels(machine)), None)
    rows = [machine.matrix.cuda(version) or (first if at_least and first and version < first.release else None) for version in found]
    return [row for row in rows if row is not None and row.sass]


def _cudas_with_kernels(machine: MachineView) -> list[CudaRelease]:
    return [row for row in machine.matrix.rows(CUDA) if row.sass]


def _first_cuda_of_majors(machine: MachineView) -> list[CudaRelease]:
    """Return the first release of each major version of CUDA that current frameworks are built for, but for the newest."""
    first: dict[int, CudaRelease] = {}
    for row in _cudas_with_kernels(machine):
        first.setdefault(row.release.major, row)
    return [row for major, row in first.items() if major >= _OLDEST_IN_USE][:-1]


def _capabilities_of_cuda(row: CudaRelease) -> list[Version]:
    return [_capability_of_digits(name.removeprefix("sm_").rstrip("af")) for name in row.sass or ()]


def _capability_of_digits(digits: str) -> Version:
    return Version(int(digits[:-1]), int(digits[-1]))


BUILD_FACTS: EvidenceByCause = {
    "slow-ptx-jit": (_gpus_using_ptx,),
    "cuda-library-missing": (_builds_with_system_cuda,),
    "gpu-too-new-for-build": (_newer_than_listed, _gpus_newer_than_build),
    "gpu-too-old-for-build": (_older_than_listed, _gpus_older_than_build, _gpus_below_conda_build, _gpus_older_than(_OLDEST_FOR_CUDNN)),
    "gpu-below-framework-minimum": (_gpus_below_requirement,),
    "gpu-lacks-bf16": (_gpus_older_than(Version(*FEATURES["bf16"])),),
}
