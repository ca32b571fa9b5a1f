"""Which facts of a text speak for one cause of a build that does not run on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpudoctor import versions
from gpudoctor.derive import FrameworkView, MachineView
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.gpu_code import capability
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.diagnose.text_facts import Ask, Asks, Words
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.frameworks.torch import TORCH
from gpudoctor.matrix import CudaRelease
from gpudoctor.matrix.tables import CHIPS, CUDA
from gpudoctor.preflight import FEATURES
from gpudoctor.signatures.builds import UNUSED
from gpudoctor.snapshot import Fact, Platform
from gpudoctor.versions import Version

_OLDEST_IN_USE = 11
"""The oldest major version of CUDA that current frameworks are built for."""
_LIBRARY = expression(r"\b(?:CUFFT|CUBLAS|CUSOLVER|CUSPARSE|CUDNN)_|\bcublas runtime error\b|\bTHCGeneral\b|\bBlas \w{0,10}GEM")


def _newer_than_build(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU that the CUDA in question does not know; if none is, one that not every CUDA of current frameworks knows.

    Kernels for an older GPU of the same generation run on it; a library that looks up the GPU may refuse it.
    """
    parts = 2 if _LIBRARY.search(text) else 1
    builds = _builds(machine, at_least=True) or _builds_with_cuda(machine)
    for rows in (builds,) if builds else (_first_of_each(machine), _installed(machine)):
        yield from _gpus(machine, _newer_than(rows, parts))


def _newer_than(rows: Sequence[CudaRelease], parts: int) -> Callable[[Version], bool]:
    """Return what asks whether none of the CUDA releases knows a compute capability, compared in its first `parts` numbers."""
    return lambda place: bool(rows) and all(max(_places(row))[:parts] < place[:parts] for row in rows)


_UNUSED = expression(UNUSED)


def _compiled_at_first_use(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a GPU that is newer than the CUDA that the framework is built for, whose PTX it can run."""
    yield from _gpus(machine, _newer_than(_builds(machine) or _builds_with_cuda(machine), 1))


_NAMED_LIBRARY = expression(r"(?i)\.so\b|\bdlls?\b|dlopen|\bcudart|\bcu[a-z]{3,8} (?:library|handle)")


def _opens_installed_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a framework whose build opens CUDA's libraries where it finds them, on a machine with a GPU, if no line is about a library."""
    for framework in () if _NAMED_LIBRARY.search(text) or not machine.hardware else machine.frameworks:
        opens = not framework.spec.brings_cuda and framework.spec.plugin is None and isinstance(framework.observed.version, Fact)
        if opens and framework.observed.cuda_build is not False and framework.observed.sees_gpu is not True:
            yield Evidence("opens the installed CUDA libraries", framework.label, "matrix")


def _older_than_build(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU that the CUDA in question has dropped; if none is known, one that the newest CUDA has, or every CUDA in use if no kernel need have failed."""
    if not _builds(machine) and (_is_of_old_cuda(machine) or machine.site.platform == Platform.JETSON):
        return  # a Jetson has the CUDA of its JetPack
    in_use = [row for row in _known(machine) if row.release.major >= _OLDEST_IN_USE]
    rows = _builds(machine) or (in_use if _UNUSED.search(text) else in_use[-1:])
    yield from _gpus(machine, lambda place: all(min(_places(row)) > place for row in rows))


_OF_CUDNN = Version(3, 0)
"""The lowest compute capability that cuDNN has ever had, and so the frameworks: https://github.com/pluskid/Mocha.jl/issues/57"""


def _is_of_old_cuda(machine: MachineView) -> bool:
    """Return whether the text is about CUDA or a framework from before what is in use, whose CUDA no table need have."""
    toolkits = [version.major for version, _ in system_cudas(machine.known_toolkits)]
    return any(major < _OLDEST_IN_USE for major in toolkits) or any(
        _is_before_tables(framework, machine) for framework in machine.frameworks
    )


def _is_before_tables(framework: FrameworkView, machine: MachineView) -> bool:
    """Return whether a release is older than every one in the tables."""
    rows, release = machine.matrix.releases(framework.name), versions.parse(framework.release)
    return bool(rows) and release is not None and release < rows[0].release


_FROM_CONDA = expression(r"\bconda\b[^\n]{0,120}\bpytorch\b|\bpytorch\b[^\n]{0,20}\bconda\b|\bpy[23][.\d]{1,4}_cuda\d")
_WITHOUT_KEPLER = versions.Version(1, 3)
_FIRST_KEPT = versions.Version(3, 7)
"""The lowest compute capability of PyTorch's conda packages from _WITHOUT_KEPLER on; its wheels had 3.5 for longer: https://github.com/pytorch/pytorch/issues/24205"""


def _older_than_conda_build(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU that PyTorch's conda packages leave out and its wheels do not, if conda installed PyTorch."""
    releases = [versions.parse(framework.release) for framework in machine.frameworks if framework.name == TORCH.name]
    if _FROM_CONDA.search(text) and any(release and release >= _WITHOUT_KEPLER for release in releases):
        yield from _gpus(machine, lambda place: place < _FIRST_KEPT)


_LISTED = expression(r"(?i)\b(?:for|arch)\b:?(?P<several>(?:[ ,]{1,3}(?:sm_|compute_)?\d{2,3}\b){1,20})")
_OWN = expression(r"(?i)\bgpu is (?:sm_?)?(?P<own>\d{2,3})\b|\bin your current machine is (?P<generation>\w{5,12})\b")
_ASKED = expression(r"-arch=compute_(?P<own>\d{2,3})\b")


def _beside_listed(machine: MachineView, text: str) -> Iterator[tuple[Version, list[Version]]]:
    """Yield a GPU's compute capability and those of a build, where one line names both; for NVRTC, of the CUDA releases that are installed."""
    for line in text.splitlines():
        own, listed = _OWN.search(line), _LISTED.search(line)
        place = _named_place(own["own"], own["generation"], machine) if own and listed else None
        if place and listed:
            yield place, [_place(one) for one in _NUMBER.findall(listed["several"])]
    asked = _ASKED.search(text)
    if asked:
        yield from ((_place(asked["own"]), _places(row)) for row in _installed(machine))


_NUMBER = expression(r"\d{2,3}")


def _named_place(digits: str | None, generation: str | None, machine: MachineView) -> Version | None:
    if digits:
        return _place(digits)
    chips = (row for row in machine.matrix.rows(CHIPS) if row.architecture == generation)
    return min((row.compute_capability for row in chips), default=None)


def _listed_as_older(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the architecture of a GPU that is newer than all that its line lists."""
    for own, listed in _beside_listed(machine, text):
        if own > max(listed):
            yield Words("compute capability", own.short, "the log")


def _listed_as_newer(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the architecture of a GPU that is older than all that its line lists."""
    for own, listed in _beside_listed(machine, text):
        if own < min(listed):
            yield Words("compute capability", own.short, "the log")


_REQUIRED = expression(r"(?i)\brequires?\b[^\n]{0,12}\b(?:(?:cuda |compute )?capability (?P<least>\d\.\d)|sm_?(?P<digits>\d{2,3}))\b")


def _below_what_is_required(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield a GPU below the compute capability that a sentence says a program requires."""
    if found := _REQUIRED.search(text):
        least = _place(found["digits"] or found["least"].replace(".", ""))
        yield from _gpus(machine, lambda place: place < least)


def _older_than(first: Version) -> Ask:
    """Return what yields a GPU below this compute capability."""
    return lambda machine, _: _gpus(machine, lambda place: place < first)


def _gpus(machine: MachineView, fits: Callable[[Version], bool]) -> Iterator[Evidence]:
    for gpu in machine.hardware:
        place = capability(gpu, machine.matrix)
        if place is not None and fits(place):
            yield Words("compute capability", place.short, "the text")


def _builds(machine: MachineView, *, at_least: bool = False) -> list[CudaRelease]:
    """Return the CUDA releases that the frameworks are built for; `at_least`: for one from before the tables the first release in them, which knows no fewer of the newer GPUs."""
    return _rows(machine, _cudas_of_builds(machine), at_least=at_least)


def _builds_with_cuda(machine: MachineView) -> list[CudaRelease]:
    """Return the CUDA releases of the builds with CUDA that a framework's release has: what is slow on a GPU is none without."""
    found = dict.fromkeys(
        row.built_with_cuda
        for framework in machine.frameworks
        for package in framework.spec.distributions
        for row in machine.matrix.releases(package)
        if row.built_with_cuda and versions.is_called(row.release, framework.release)
    )
    return _rows(machine, list(found), at_least=True)


def _cudas_of_builds(machine: MachineView) -> list[Version]:
    return [cuda.version for framework in machine.frameworks if isinstance(cuda := framework.cuda_or_missing, EffectiveCuda)]


_KNOWN_TO_EVERY_FRAMEWORK = Version(5, 2)
"""What CUDA 7.0 knows, for which the first TensorFlow of 2015 was built: MinVersionForCudaArch in clang's Cuda.cpp."""


def knows_gpus_since_long(machine: MachineView) -> bool:
    """Return whether the first CUDA of the tables, or any CUDA if a framework is from before them, already knows each GPU of a text that names no CUDA before it."""
    first, gpus = _known(machine)[0], [capability(gpu, machine.matrix) for gpu in machine.hardware]
    named = (*_cudas_of_builds(machine), *(version for version, _ in system_cudas(machine.known_toolkits)))
    newest = (
        _KNOWN_TO_EVERY_FRAMEWORK if any(_is_before_tables(framework, machine) for framework in machine.frameworks) else max(_places(first))
    )
    return (
        bool(gpus) and all(place is not None and place <= newest for place in gpus) and all(version >= first.release for version in named)
    )


def _installed(machine: MachineView) -> list[CudaRelease]:
    """Return the CUDA releases that are installed, for which people choose builds, or for old ones the first in the tables."""
    return _rows(machine, [version for version, _ in system_cudas(machine.known_toolkits)], at_least=True)


def _rows(machine: MachineView, found: Sequence[Version], *, at_least: bool) -> list[CudaRelease]:
    first = next(iter(_known(machine)), None)
    rows = [machine.matrix.cuda(version) or (first if at_least and first and version < first.release else None) for version in found]
    return [row for row in rows if row is not None and row.sass]


def _known(machine: MachineView) -> list[CudaRelease]:
    return [row for row in machine.matrix.rows(CUDA) if row.sass]


def _first_of_each(machine: MachineView) -> list[CudaRelease]:
    """Return the first release of each major version of CUDA that current frameworks are built for, but for the newest."""
    first: dict[int, CudaRelease] = {}
    for row in _known(machine):
        first.setdefault(row.release.major, row)
    return [row for major, row in first.items() if major >= _OLDEST_IN_USE][:-1]


def _places(row: CudaRelease) -> list[Version]:
    return [_place(name.removeprefix("sm_").rstrip("af")) for name in row.sass or ()]


def _place(digits: str) -> Version:
    return Version(int(digits[:-1]), int(digits[-1]))


BUILDS: Asks = {
    "slow-ptx-jit": (_compiled_at_first_use,),
    "cuda-library-missing": (_opens_installed_cuda,),
    "gpu-too-new-for-build": (_listed_as_older, _newer_than_build),
    "gpu-too-old-for-build": (_listed_as_newer, _older_than_build, _older_than_conda_build, _older_than(_OF_CUDNN)),
    "gpu-below-framework-minimum": (_below_what_is_required,),
    "gpu-lacks-bf16": (_older_than(Version(*FEATURES["bf16"])),),
}
