"""GD406: cuda-mixed-versions."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import EffectiveCuda, MachineView, Stack
from gpudoctor.derive.code import xray
from gpudoctor.diagnose.advice.installing import install
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.advice.shell import shell_list
from gpudoctor.diagnose.library_facts import for_a_gpu, xrayed
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.cuda_versions import _system
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Libraries, LibraryFile, LibraryUse, Missing, Snapshot, Variables
from gpudoctor.versions import Version


@rule(
    "GD406",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.ENVIRONMENT,
    explains=(Explains(TRAINING_FAILS, ""),),
)
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
        foreign = dict(_foreign(framework, cuda.version.major, libraries)) if isinstance(cuda, EffectiveCuda) else {}
        if foreign:
            yield Problem(
                message=f"{framework.label} is built for CUDA {cuda.version.major if isinstance(cuda, EffectiveCuda) else ''} "
                f"and would load {_of(next(iter(foreign.values())))}, which is for another CUDA.",
                evidence=tuple(Evidence(f"{use.component}, asked for by {use.asked_by}", _of(foreign[use]), use.why) for use in foreign),
                fixes=tuple(_one_cuda(framework, machine, tuple(foreign.values()))),
            )


def _one_cuda(framework: Framework, machine: MachineView, foreign: tuple[LibraryFile, ...]) -> Iterator[Fix]:
    """The packages of the build's own CUDA, in a release that the framework accepts, over those for another."""
    cuda = machine.effective_cuda(framework)
    stack = machine.stack_or_missing
    owners = dict.fromkeys(str(file.owner) for file in foreign)
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
            yield Fix(f"Reinstall {' and '.join(sorted(wanted))}, which {framework.label} requires", again, (DOWNLOAD,))
        elif (found := pick(machine, framework.name, prefer=framework.release)) is not None:
            yield install(
                machine,
                framework.name,
                found,
                title=f"Remove {' and '.join(owners)}, and install {found.name} with its own libraries",
                replace=tuple(owners),
                options=("--force-reinstall",),
            )
    yield Fix(f"Give {framework.label} an environment of its own, without {' and '.join(owners)}.", needs=(DOWNLOAD,), kind=FixKind.INSTEAD)


def _foreign(framework: Framework, major: int, libraries: Libraries) -> Iterator[tuple[LibraryUse, LibraryFile]]:
    """What a framework would load from wheels for another CUDA: the first file of each component."""
    seen = xray(framework, libraries)
    uses = seen.uses if seen is not None and isinstance(seen.uses, tuple) else ()
    first = {use.component: use for use in reversed(uses)}
    for use in uses:
        if use is first[use.component] and isinstance(use.file, LibraryFile) and _made_for(use.file) not in {0, major}:
            yield use, use.file


def _of(file: LibraryFile) -> str:
    return f"{file.path} of {file.owner}"


def _made_for(file: LibraryFile) -> int:
    """The CUDA of the wheel that a file is of: nvidia-cudnn-cu12, or nvidia-cusparse in nvidia/cu13; 0 where that cannot be told."""
    owner = file.owner if isinstance(file.owner, str) else ""
    if not owner.startswith("nvidia-") or file.owners:  # of two wheels that share a folder, where their files do not tell
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
