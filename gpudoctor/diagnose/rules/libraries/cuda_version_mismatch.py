"""GD405: cuda-version-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import EffectiveCuda, MachineView, Stack
from gpudoctor.derive.code import xray
from gpudoctor.derive.components import WHEELS, brings_runtime, takes_system_cuda
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import newest, works_here
from gpudoctor.diagnose.library_facts import for_a_gpu
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.cuda_versions import _system
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import NOT_ASKED, Framework, LibraryFile, Missing, Platform, Python, Snapshot
from gpudoctor.versions import Version

LIVE = "live"


_COMPARED = ("libcudart", "libcublas", "libcufft", "libcurand", "libcusolver", "libcusparse")
"""Libraries that every framework without CUDA of its own opens."""


_CUPY = "cupy-cuda"


_RUNTIMES = tuple(WHEELS["cudart"] + suffix for suffix in ("", "-cu11", "-cu12", "-cu13"))


class _Build(msgspec.Struct, frozen=True):
    """Something that is built for one CUDA and takes the system's."""

    name: str
    version: Version
    where: str
    framework: Framework | None = None


def _builds(machine: MachineView, stack: Stack | Missing) -> Iterator[_Build]:
    for framework in machine.observed_frameworks:
        cuda = machine.effective_cuda(framework)
        if isinstance(cuda, EffectiveCuda) and takes_system_cuda(framework, cuda, stack):
            yield _Build(framework.label, cuda.version, cuda.where, framework)
    for one in () if isinstance(stack, Missing) or brings_runtime(stack, _RUNTIMES) else stack.distributions.values():
        digits = one.name.removeprefix(_CUPY)
        if one.name == digits or any(framework.distribution == one.name for framework in machine.observed_frameworks):
            continue
        version = versions.parse(digits.removesuffix("x") if digits.endswith("x") else f"{digits[:-1]}.{digits[-1:]}")
        if version is not None:
            yield _Build(one.label, version, f"the wheel's name, {one.name}")


def _lacking(build: _Build, toolkit: Version, matrix: Matrix) -> tuple[str, ...]:
    """The libraries, by file name, that a build asks for and a toolkit does not have; () where the toolkit will do."""
    wanted, there = matrix.cuda(build.version), matrix.cuda(toolkit)
    if build.version.text.count(".") and wanted and there and wanted.sonames and there.sonames:
        return tuple(name for name in wanted.sonames if name.partition(".")[0] in _COMPARED and name not in there.sonames)
    minor = build.version.major < 11 and build.version.text.count(".") > 0
    same = build.version[:2] == toolkit[:2] if minor else build.version.major == toolkit.major
    return () if same else (f"those of CUDA {build.version.short if minor else build.version.major}",)


def _opens(build: _Build, snapshot: Snapshot) -> bool:
    """Whether a build finds what it asks for, by the X-ray; ends the rule on a live machine where none was made."""
    if build.framework is None or snapshot.origin != LIVE:
        return False
    seen = xray(build.framework, need(snapshot.libraries))
    uses = need(seen.uses if seen is not None else NOT_ASKED)
    return all(isinstance(use.file, LibraryFile) for use in uses if use.vital and f"lib{use.component}" in _COMPARED)


@rule(
    "GD405",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.ENVIRONMENT,
    explains=(
        Explains(
            (
                "cupy-wheel-cuda-mismatch",
                "cuda-library-missing",
                "cudnn-missing",
                "cuda-libs-not-on-loader-path",
                "pip-nvidia-libs-not-on-path",
                "cuda-library-damaged",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def cuda_version_mismatch(machine: MachineView, snapshot: Snapshot, stack: Stack | Missing, python: Python | Missing) -> Iterator[Problem]:
    """The CUDA release on the system is not the one that the build links.

    ## Why it matters
    A build that brings no CUDA asks the loader for the libraries of one release, by names such as libcudart.so.10.1. Those of another
    release are called otherwise and are not found; TensorFlow then says "Could not load dynamic library" and registers no GPU. Up to
    CUDA 10 each minor release had names of its own, since then each major one (with an exception: cuSOLVER between 11.0 and 11.1).

    Programs that bring CUDA's libraries as packages (nvidia-...) or inside (PyTorch) do not need a CUDA of the system.

    ## What to do
    Install the release that the build links, beside the other one, or a build for the CUDA that is there, or one that brings its own.

    ## References
    - https://www.tensorflow.org/install/source#gpu
    - https://docs.cupy.dev/en/stable/install.html
    """
    for_a_gpu(machine.hardware)
    there = _system(need(snapshot.toolkits))
    if not there:
        not_applicable("no CUDA release of the system is known")
    for build in _builds(machine, stack):
        lacking = [names for version, _ in there if (names := _lacking(build, version, machine.matrix))]
        if len(lacking) < len(there) or _opens(build, snapshot):
            continue
        found = " and ".join(dict.fromkeys(version.short for version, _ in there))
        lacks = "" if machine.site.platform == Platform.WINDOWS else f": it lacks {', '.join(lacking[0][:3])}"
        yield Problem(
            message=f"{build.name} is built for CUDA {_of(build)} and takes the system's, which is {found}{lacks}.",
            severity=_severity(build, machine),
            only_for=build.framework.name if build.framework else "",
            confidence=Confidence.CERTAIN if snapshot.origin != LIVE or build.framework else Confidence.LIKELY,
            evidence=(
                Evidence("CUDA of the build", _of(build), build.where),
                *(Evidence("CUDA of the system", str(version), where) for version, where in there),
                *(
                    (
                        Evidence(
                            "files that it asks for and the system lacks", " ".join(lacking[0]), "matrix: names of each release's files"
                        ),
                    )
                    if lacks
                    else ()
                ),
            ),
            fixes=_fixes(build, there[0][0], machine, python),
        )


def _of(build: _Build) -> str:
    return build.version.short if build.version.text.count(".") else str(build.version.major)


def _severity(build: _Build, machine: MachineView) -> Severity | None:
    """What observation leaves of it: nothing is predicted of a framework that trained."""
    if build.framework is None:
        return None if machine.observed.origin != LIVE else Severity.WARNING
    if machine.trains(build.framework.name):
        return Severity.NOTE
    return None


def _fixes(build: _Build, system: Version, machine: MachineView, python: Python | Missing) -> tuple[Fix, ...]:
    other = msgspec.structs.replace(_toolkit(build, machine), kind=FixKind.INSTEAD)
    if build.framework is None:
        name = f"cupy-cuda{system.major}x"
        release = newest(machine, name)
        if not release:
            return (_toolkit(build, machine),)
        command = install_package(python, f"{name}=={release}", replace=build.name.partition(" ")[0])
        return Fix("Install the wheel for the CUDA that is there", command, (DOWNLOAD,)), other
    rows = machine.published(build.framework)
    if any("nvidia-cuda-runtime" in text for row in rows for text in row.requires) and build.framework.name == "tensorflow":
        pin = f"tensorflow[and-cuda]=={rows[0].release}"
        return Fix("Let TensorFlow have its own CUDA, as packages", install_package(python, pin), (DOWNLOAD,)), other
    return (_toolkit(build, machine), *_built_for(build, system, machine, python))


def _toolkit(build: _Build, machine: MachineView) -> Fix:
    """The toolkit of the build's CUDA, by NVIDIA's installer, which leaves the driver alone."""
    title = f"Install CUDA {_of(build)} beside the other one, and put its lib64 folder first in LD_LIBRARY_PATH"
    where = "https://developer.nvidia.com/cuda-toolkit-archive"
    return Fix(f"{title} ({where}{', without its driver' if machine.site.on_wsl or machine.driver_or_missing else ''}).", needs=(DOWNLOAD,))


def _built_for(build: _Build, system: Version, machine: MachineView, python: Python | Missing) -> Iterator[Fix]:
    """The newest release of the same distribution that links the CUDA of the system and works here."""
    if build.framework is None:
        return
    short = "" if isinstance(machine.stack_or_missing, Missing) else machine.stack_or_missing.python
    for row in reversed(machine.matrix.releases(build.framework.distribution, "linux_x86_64")):
        usable = row.built_with_cuda is not None and (not short or short in row.pythons)
        if usable and row.built_with_cuda and not _lacking(_Build("", row.built_with_cuda, ""), system, machine.matrix):
            if not works_here(machine, row):
                continue
            title = f"Install {row.distribution} {row.release}, which is built for CUDA {row.built_with_cuda.short}"
            yield Fix(title, install_package(python, f"{row.distribution}=={row.release}"), (DOWNLOAD,), kind=FixKind.INSTEAD)
            return
