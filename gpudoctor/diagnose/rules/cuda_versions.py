"""GD4: whether the CUDA of the system is the one that a build links, and whether libraries for two CUDA releases mix."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import EffectiveCuda, MachineView, Stack
from gpudoctor.derive.code import xray
from gpudoctor.derive.components import WHEELS, brings_runtime, takes_system_cuda
from gpudoctor.derive.packages import called as packaged
from gpudoctor.diagnose.build_facts import called
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package, shell_list
from gpudoctor.diagnose.installing import install, release_of
from gpudoctor.diagnose.library_facts import for_a_gpu, xrayed
from gpudoctor.diagnose.releases import newest, pick, works_here
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import NOT_ASKED, Fact, Framework, Libraries, LibraryFile, Missing, Platform, Python, Snapshot, Toolkit, Variables
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
            yield _Build(called(framework), cuda.version, cuda.where, framework)
    for one in () if isinstance(stack, Missing) or brings_runtime(stack, _RUNTIMES) else stack.distributions.values():
        digits = one.name.removeprefix(_CUPY)
        if one.name == digits or any(framework.distribution == one.name for framework in machine.observed_frameworks):
            continue
        version = versions.parse(digits.removesuffix("x") if digits.endswith("x") else f"{digits[:-1]}.{digits[-1:]}")
        if version is not None:
            yield _Build(packaged(one), version, f"the wheel's name, {one.name}")


def _lacking(build: _Build, toolkit: Version, matrix: Matrix) -> tuple[str, ...]:
    """The libraries, by file name, that a build asks for and a toolkit does not have; () where the toolkit will do."""
    wanted, there = matrix.cuda(build.version), matrix.cuda(toolkit)
    if build.version.text.count(".") and wanted and there and wanted.sonames and there.sonames:
        return tuple(name for name in wanted.sonames if name.partition(".")[0] in _COMPARED and name not in there.sonames)
    minor = build.version.major < 11 and build.version.text.count(".") > 0
    same = build.version[:2] == toolkit[:2] if minor else build.version.major == toolkit.major
    return () if same else (f"those of CUDA {build.version.short if minor else build.version.major}",)


def _system(toolkits: tuple[Toolkit, ...]) -> list[tuple[Version, str]]:
    """The CUDA releases on the system, and where each is."""
    stated = ((one.toolkit_cuda, one.path) for one in toolkits if isinstance(one.toolkit_cuda, Fact))
    parsed = ((versions.parse(fact.value), path or fact.where) for fact, path in stated)
    return [(version, where) for version, where in parsed if version is not None]


def _opens(build: _Build, snapshot: Snapshot) -> bool:
    """Whether a build finds what it asks for, by the X-ray; ends the rule on a live machine where none was made."""
    if build.framework is None or snapshot.origin != LIVE:
        return False
    seen = xray(build.framework, need(snapshot.libraries))
    uses = need(seen.uses if seen is not None else NOT_ASKED)
    return all(isinstance(use.file, LibraryFile) for use in uses if use.vital and f"lib{use.component}" in _COMPARED)


@rule("GD405", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.ENVIRONMENT)
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


@rule("GD406", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT)
def cuda_mixed_versions(machine: MachineView, snapshot: Snapshot, variables: Variables | Missing) -> Iterator[Problem]:
    """Libraries for two major releases of CUDA are mixed on one search path.

    ## Why it matters
    Most CUDA libraries carry the major release in their file name, so that two releases can lie side by side. CuDNN and NCCL do not:
    the first on the path is taken, and one that was made for another CUDA asks for that CUDA's cuBLAS and runtime too, which fails, or
    puts two runtimes into one process.

    ## What to do
    Keep one CUDA on LD_LIBRARY_PATH, and packages (nvidia-...-cu12) for one CUDA in an environment.

    ## References
    - https://docs.nvidia.com/deploy/cuda-compatibility/
    """
    for_a_gpu(machine.hardware)
    yield from _two_on_the_path(snapshot, variables)
    libraries = xrayed(machine)
    for framework in machine.observed_frameworks:
        cuda = machine.effective_cuda(framework)
        foreign = tuple(_foreign(framework, cuda.version.major, libraries)) if isinstance(cuda, EffectiveCuda) else ()
        if foreign:
            yield Problem(
                message=f"{called(framework)} is built for CUDA {cuda.version.major if isinstance(cuda, EffectiveCuda) else ''} "
                f"and would load {foreign[0].value}, which is for another CUDA.",
                evidence=foreign,
                fixes=tuple(_one_cuda(framework, machine, foreign)),
            )


def _one_cuda(framework: Framework, machine: MachineView, foreign: tuple[Evidence, ...]) -> Iterator[Fix]:
    """The packages of the build's own CUDA, in a release that the framework accepts, over those for another."""
    cuda = machine.effective_cuda(framework)
    stack = machine.stack_or_missing
    owners = dict.fromkeys(one.value.rpartition(" of ")[2] for one in foreign)
    if isinstance(cuda, EffectiveCuda) and isinstance(stack, Stack):
        suffix = f"-cu{cuda.version.major}"
        wanted = {name.rpartition("-cu")[0] + suffix for name in owners if "-cu" in name}
        pins = [
            f"{demand.requirement.name}{demand.requirement.specifier}"
            for demand in stack.demands
            if demand.requirement.name in wanted and demand.by.name == framework.distribution
        ]
        if pins:
            again = install_package(machine.observed.python, "--force-reinstall", "--no-deps", *dict.fromkeys(pins))
            yield Fix(f"Reinstall {' and '.join(sorted(wanted))}, which {called(framework)} requires", again, (DOWNLOAD,))
        elif (found := pick(machine, framework.name, prefer=release_of(framework))) is not None:
            yield install(
                machine,
                framework.name,
                found,
                title=f"Remove {' and '.join(owners)}, and install {found.name} with its own libraries",
                replace=tuple(owners),
                options=("--force-reinstall",),
            )
    yield Fix(
        f"Give {called(framework)} an environment of its own, without {' and '.join(owners)}.", needs=(DOWNLOAD,), kind=FixKind.INSTEAD
    )


def _foreign(framework: Framework, major: int, libraries: Libraries) -> Iterator[Evidence]:
    """What a framework would load from wheels for another CUDA: the first file of each component."""
    seen = xray(framework, libraries)
    uses = seen.uses if seen is not None and isinstance(seen.uses, tuple) else ()
    first = {use.component: use for use in reversed(uses)}
    for use in uses:
        if use is first[use.component] and isinstance(use.file, LibraryFile) and _made_for(use.file) not in {0, major}:
            yield Evidence(f"{use.component}, asked for by {use.asked_by}", f"{use.file.path} of {use.file.owner}", use.why)


def _made_for(file: LibraryFile) -> int:
    """The CUDA of the wheel that a file is of: nvidia-cudnn-cu12, or nvidia-cusparse in nvidia/cu13; 0 where that cannot be told."""
    owner = file.owner if isinstance(file.owner, str) else ""
    if not owner.startswith("nvidia-") or " or " in owner:  # of two wheels that share a folder, where their files do not tell
        return 0
    folder = file.path.rpartition("/nvidia/cu")[2].partition("/")[0]
    digits = next((text for text in (owner.rpartition("-cu")[2], folder) if text.isdigit()), "0")
    return int(digits)


def _two_on_the_path(snapshot: Snapshot, variables: Variables | Missing) -> Iterator[Problem]:
    """Toolkits of two major releases in LD_LIBRARY_PATH."""
    path = "" if isinstance(variables, Missing) else variables.values.get("LD_LIBRARY_PATH", "")
    toolkits = () if isinstance(snapshot.toolkits, Missing) else snapshot.toolkits
    found: dict[int, tuple[str, Version]] = {}
    for folder in filter(None, path.split(":")):
        for version, place in _system(toolkits):
            if place not in {"", "/usr"} and f"{folder}/".startswith(f"{place}/"):
                found.setdefault(version.major, (folder, version))
    if len(found) > 1:
        named = " and ".join(f"{folder} (CUDA {version.short})" for folder, version in found.values())
        yield Problem(
            message=f"LD_LIBRARY_PATH names folders of {len(found)} major releases of CUDA: {named}.",
            evidence=(Evidence("LD_LIBRARY_PATH", path, "environment"),),
            fixes=(_one_toolkit(path, found, snapshot),),
        )


def _one_toolkit(path: str, found: dict[int, tuple[str, Version]], snapshot: Snapshot) -> Fix:
    """The variable with the folders of the newest of these toolkits alone."""
    toolkits = () if isinstance(snapshot.toolkits, Missing) else snapshot.toolkits
    keep = max(found)
    others = [place for version, place in _system(toolkits) if version.major != keep and place not in {"", "/usr"}]
    left = [one for one in path.split(":") if one and not any(f"{one}/".startswith(f"{place}/") for place in others)]
    title = f"Keep CUDA {found[keep][1].short} alone in LD_LIBRARY_PATH, here and where it is set"
    return Fix(title, f"export LD_LIBRARY_PATH={shell_list(left)}")


RULES = (cuda_version_mismatch, cuda_mixed_versions)
