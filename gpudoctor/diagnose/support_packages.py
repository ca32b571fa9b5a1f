"""Which packages of CUDA's libraries, of pip and of conda, speak for one cause of a missing or mixed library."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final

from gpudoctor import versions
from gpudoctor.derive import MachineView, require_known
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.cuda_libraries import WHEEL_NAMES
from gpudoctor.diagnose.missing_libraries import missing_libraries_on_disk, missing_library_names, soname_major
from gpudoctor.diagnose.text_evidence import EvidenceByCause, TextEvidence
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.citations import citation
from gpudoctor.matrix.tables import CUDA, CUDNN
from gpudoctor.signatures.phrases import STATED_WHEEL
from gpudoctor.snapshot import Distribution, Missing
from gpudoctor.versions import Version

_WITHOUT_SUFFIX_SINCE = 13
"""From this CUDA on the names of NVIDIA's packages do not end with its major version."""
WHEEL_FOLDER: Final = "-packages/nvidia/"
"""Where NVIDIA's packages for pip put their libraries."""


def _wheels_with_library(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the installed package of NVIDIA's that contains a missing library."""
    installed = {wheel.name: wheel for wheel in nvidia_wheels(machine)}
    if not missing_library_names(text):
        yield from _unreachable_wheels(machine, installed)
    for wanted in missing_library_names(text):
        package = _package_with_library(wanted)
        if not package:
            continue
        cudas = _cuda_majors_with_soname(wanted, machine)
        names = {f"{package}-cu{cuda}" for cuda in cudas} | {package for cuda in cudas if cuda >= _WITHOUT_SUFFIX_SINCE}
        for distribution in (distribution for name, distribution in installed.items() if name in names):
            version = versions.parse_version(distribution.version)
            if version is not None and (package != WHEEL_NAMES["cudnn"] or version.major == soname_major(wanted)):
                yield Evidence("installed", distribution.label, distribution.where)


def _unreachable_wheels(machine: MachineView, installed: Container[str]) -> Iterator[Evidence]:
    """Yield the installed packages of NVIDIA's that a framework's wheel cannot find, whatever else is installed."""
    stack = machine.stack_or_missing
    for framework in machine.frameworks:
        own = framework.distribution
        row = stack.row(own) if own is not None and not isinstance(stack, Missing) else None
        lost = [name for name in (row.unreachable or () if row else ()) if name in installed]
        if row and lost:
            yield Evidence(f"packages that {framework.label} cannot find", " ".join(lost), citation(row.source))


def _library_in_wheel_folder(_: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the path of a missing library in NVIDIA's packages for pip, if the text shows one."""
    yield from (
        TextEvidence(name, f"{folder}{name}", "the text") for folder, name in missing_libraries_on_disk(text) if WHEEL_FOLDER in folder
    )


_STATED_WHEEL = expression(STATED_WHEEL)


def _stated_wheels_with_library(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield NVIDIA's package for pip that contains a missing library, if somebody says that it is installed."""
    said = {(found[1] or found[2]).lower(): found[0] for found in _STATED_WHEEL.finditer(text)}
    for wanted in missing_library_names(text):
        package = _package_with_library(wanted)
        for name, words in said.items():
            of_library, _, cuda = name.rpartition("-cu")
            if of_library == package and _can_contain(wanted, int(cuda), machine.matrix):
                yield TextEvidence(name, words, "a sentence")


def _can_contain(soname: str, cuda: int, matrix: Matrix) -> bool:
    """Return whether a package for a major version of CUDA contains a library, that of cuDNN in its newest release, which pip installs."""
    if soname.startswith("libcudnn"):
        return max((row.release for row in matrix.rows(CUDNN) if row.cuda == cuda), default=Version(0)).major == soname_major(soname)
    return cuda in _cuda_majors_with_library(soname, matrix)


def _package_with_library(soname: str) -> str:
    """Return NVIDIA's package for pip that contains a library, without its CUDA; "" if none does."""
    return next((package for name, package in WHEEL_NAMES.items() if soname.lower().startswith(f"lib{name}")), "")


def _wheels_for_other_cuda(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the framework's own CUDA, or NVIDIA's packages for another one, if a library of a third is missing."""
    wanted = [name for name in missing_library_names(text) if not name.startswith("libcudnn")]
    majors = {cuda for name in wanted for cuda in _cuda_majors_with_soname(name, machine)}
    for framework in machine.frameworks:
        cuda = framework.cuda_or_missing
        if framework.spec.brings_cuda and isinstance(cuda, EffectiveCuda) and majors and cuda.version.major not in majors:
            yield Evidence(f"CUDA of {framework.label}", str(cuda.version), cuda.where)
    for wheel in nvidia_wheels(machine):
        if majors and _cuda_major_of_wheel(wheel) > max(majors):
            yield Evidence("installed", wheel.label, wheel.where)


def _cuda_major_of_wheel(wheel: Distribution) -> int:
    """Return the major version of CUDA that one of NVIDIA's packages is for; 0 if it does not tell."""
    suffix = wheel.name.rpartition("-cu")[2]
    version = versions.parse_version(wheel.version) if wheel.name == WHEEL_NAMES["cudart"] else None
    return int(suffix) if suffix.isdigit() else version.major if version else 0


_CONDA_LIBRARY = expression(r"lib(\w{3,12})-(\d[\w.]{0,20})-")


def _doubly_installed_libraries(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield a library of CUDA that conda and pip both installed, in different versions."""
    packages = require_known(machine.observed.packages)
    in_conda = {found[1]: found[2] for stem in require_known(packages.conda) if (found := _CONDA_LIBRARY.match(stem))}
    for distribution in packages.distributions:
        name = distribution.name.removeprefix("nvidia-").partition("-cu")[0]
        if distribution.name.startswith("nvidia-") and in_conda.get(name, distribution.version) != distribution.version:
            yield Evidence(f"{name} of conda, of pip", f"{in_conda[name]}, {distribution.version}", distribution.where)


def _wheels_of_two_cudas(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield two of NVIDIA's installed packages for one library and two CUDA releases."""
    seen: dict[str, Distribution] = {}
    for wheel in nvidia_wheels(machine):
        library, _, suffix = wheel.name.rpartition("-cu")
        if suffix.isdigit() and (first := seen.setdefault(library, wheel)) is not wheel:
            yield Evidence("installed", f"{first.label}, {wheel.label}", wheel.where)


_LINKER_SYMBOL = expression(r"\b_{1,2}nvJitLink[A-Z][a-z]\w{2,40}?_(\d{2})_(\d)\b")
"""A function of nvJitLink, whose name ends with the CUDA release that needs it."""


def _linker_older_than_function(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield NVIDIA's installed package of nvJitLink, if it is older than the function that it lacks."""
    found = _LINKER_SYMBOL.search(text)
    for wheel in nvidia_wheels(machine) if found else ():
        version = versions.parse_version(wheel.version)
        if (
            found
            and wheel.name.startswith(WHEEL_NAMES["nvjitlink"])
            and version
            and version[:2] < Version(int(found[1]), int(found[2]))[:2]
        ):
            yield Evidence("installed", wheel.label, wheel.where)


def _cuda_majors_with_soname(soname: str, machine: MachineView) -> frozenset[int]:
    """Return the major versions of CUDA that have a library of this name, as 10 to 13 have libcurand.so.10; for cuDNN of the installed packages."""
    if soname.startswith("libcudnn"):
        suffixes = [wheel.name.rpartition("-cu")[2] for wheel in nvidia_wheels(machine) if wheel.name.startswith(WHEEL_NAMES["cudnn"])]
        return frozenset(int(suffix) for suffix in suffixes if suffix.isdigit())
    return _cuda_majors_with_library(soname, machine.matrix)


def _cuda_majors_with_library(soname: str, matrix: Matrix) -> frozenset[int]:
    return frozenset(row.release.major for row in matrix.rows(CUDA) if soname in (row.sonames or ()))


def nvidia_wheels(machine: MachineView) -> list[Distribution]:
    """Return the installed packages of NVIDIA's."""
    stack = machine.stack_or_missing
    return (
        []
        if isinstance(stack, Missing)
        else [distribution for name, distribution in stack.distributions.items() if name.startswith("nvidia-")]
    )


_EXTENSION_IMPORT = expression(r"(?m)^\W{0,8}(?:import|from) (\w{3,40}_(?:cuda|ext|gpu)|vllm\._C|amp_C|sgl_kernel)\b")
"""A compiled module of an extension of PyTorch, which is imported after PyTorch has loaded the runtime of its own CUDA."""


def _importing_extension(_: MachineView, text: str) -> Iterator[Evidence]:
    if (found := _EXTENSION_IMPORT.search(text)) and any(name.startswith("libcudart.") for name in missing_library_names(text)):
        yield Evidence("missing for", found[1], "a traceback")


def duplicate_packages(machine: MachineView, _: str) -> Iterator[Evidence]:
    """Yield two packages of one framework that a list names: they own the same files."""
    packages = machine.observed.packages
    listed = () if isinstance(packages, Missing) else packages.distributions
    for framework in machine.frameworks:
        copies = [
            package for package in listed if framework_of(package.name) == framework.name and package.name not in framework.spec.stand_ins
        ]
        if len({copy.name for copy in copies}) > 1:
            yield Evidence("installed", " and ".join(copy.label for copy in copies[:2]), copies[0].where)


PACKAGE_FACTS: EvidenceByCause = {
    "two-copies-of-framework": (duplicate_packages,),
    "pip-nvidia-libs-not-on-path": (_wheels_with_library, _library_in_wheel_folder, _stated_wheels_with_library),
    "extension-built-for-other-cuda": (_wheels_for_other_cuda, _importing_extension),
    "mixed-conda-pip": (_doubly_installed_libraries,),
    "nvidia-wheel-version-conflict": (_linker_older_than_function,),
    "cuda-mixed-versions": (_wheels_of_two_cudas,),
}
