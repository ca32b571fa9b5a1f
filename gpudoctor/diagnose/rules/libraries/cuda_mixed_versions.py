import re
from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import EffectiveCuda, EnvironmentView, FrameworkView, MachineView
from gpudoctor.derive.libraries import LIBRARY_PATH
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.diagnose.advice.installing import install_pick
from gpudoctor.diagnose.advice.packages import REINSTALL, install_fix
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.advice.shell import set_library_path
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.findings import DOWNLOAD, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import LibraryFile, LibraryUse, Missing, TextLog
from gpudoctor.versions import Version

_FOLDER = re.compile(r"/\S{0,200}/cuda-(?P<release>\d{1,2}\.\d)(?=/|$)")
"""Where NVIDIA's installers put a toolkit."""


@rule("GD406", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK)
@explains(TRAINING_FAILS, "A library for another CUDA fails to load, or loads a second CUDA runtime into the process.")
def cuda_mixed_versions(environment: EnvironmentView) -> Problems:
    """CUDA libraries of two major versions are mixed."""
    machine = environment.machine
    machine.need_gpu()
    yield from _two_toolkits_on_path(environment)
    examined = {seen.framework: seen for seen in machine.libraries.frameworks}
    for framework in environment.frameworks:
        cuda, seen = framework.cuda_or_missing, examined.get(framework.name)
        if isinstance(cuda, EffectiveCuda) and seen is not None and isinstance(seen.uses, tuple):
            yield from _foreign_libraries(framework, cuda, seen.uses)


def _foreign_libraries(framework: FrameworkView, cuda: EffectiveCuda, uses: tuple[LibraryUse, ...]) -> Problems:
    """Report libraries that a framework would load from wheels for another CUDA: the first file of each component."""
    first: dict[str, LibraryUse] = {}
    for use in uses:
        first.setdefault(use.component, use)
    files = [(use, use.file) for use in first.values() if isinstance(use.file, LibraryFile)]
    foreign = [(use, file) for use, file in files if _cuda_major_of_wheel(file) not in {0, cuda.version.major}]
    if not foreign:
        return
    use, file = foreign[0]
    yield Problem(
        message=f"{framework.label} is built for CUDA {cuda.version.major} but would load {file.path} of {file.owner}, "
        f"which is for CUDA {_cuda_major_of_wheel(file)}.",
        evidence=tuple(
            Evidence(f"{use.component}, requested by {use.asked_by}", f"{file.path} of {file.owner}", use.why) for use, file in foreign
        ),
        fixes=tuple(_keep_one_cuda(framework, cuda, tuple(dict.fromkeys(str(file.owner) for _, file in foreign)))),
    )


def _cuda_major_of_wheel(file: LibraryFile) -> int:
    """Return the CUDA major version of a file's wheel: 12 for nvidia-cudnn-cu12, 13 for a file in nvidia/cu13; 0 if unknown."""
    owner = file.owner if isinstance(file.owner, str) else ""
    if not owner.startswith("nvidia-") or file.owners:  # two wheels share the folder
        return 0
    folder = file.path.rpartition("/nvidia/cu")[2].partition("/")[0]
    digits = next((text for text in (owner.rpartition("-cu")[2], folder) if text.isdigit()), "0")
    return int(digits)


def _keep_one_cuda(framework: FrameworkView, cuda: EffectiveCuda, owners: tuple[str, ...]) -> Iterator[Fix]:
    """Return fixes that install the packages for the build's own CUDA and remove those for another."""
    machine, stack = framework.machine, framework.environment.stack_or_missing
    if not isinstance(stack, Missing):
        suffix = f"-cu{cuda.version.major}"
        wanted = {name.rpartition("-cu")[0] + suffix for name in owners if "-cu" in name}
        own = (demand.requirement for demand in stack.demands if demand.by.name == framework.observed.distribution)
        pins = dict.fromkeys(f"{requirement.name}{requirement.specifier}" for requirement in own if requirement.name in wanted)
        picked = pick_release(machine, framework.name, near=framework.release)
        if pins:
            title = f"Reinstall {' and '.join(sorted(wanted))}, which {framework.label} requires"
            yield install_fix(title, machine.observed.python, *pins, options=REINSTALL)
        elif picked is not None:
            yield install_pick(
                machine,
                framework.name,
                picked,
                title=f"Remove {' and '.join(owners)}, and reinstall {picked.name}",
                replace=owners,
                options=("--force-reinstall",),
            )
    title = f"Install {framework.label} in an environment of its own, without {' and '.join(owners)}."
    yield Fix(title, needs=(DOWNLOAD,), kind=FixKind.INSTEAD)


def _two_toolkits_on_path(environment: EnvironmentView) -> Problems:
    """Report toolkits of two CUDA major versions in LD_LIBRARY_PATH."""
    entries = [entry for entry in environment.machine.variable(LIBRARY_PATH).split(":") if entry]
    toolkits = [*_toolkits_with_folders(environment.machine, entries)]
    found: dict[int, tuple[str, Version]] = {}
    for entry in entries:
        for version, place in toolkits:
            if _is_inside(entry, place):
                found.setdefault(version.major, (entry, version))
    if len(found) < 2:
        return
    newest = max(found)
    others = [place for version, place in toolkits if version.major != newest]
    left = [entry for entry in entries if not any(_is_inside(entry, place) for place in others)]
    folders = " and ".join(f"{entry} (CUDA {version.short})" for entry, version in found.values())
    yield Problem(
        message=f"{LIBRARY_PATH} mixes CUDA major versions: {folders}.",
        evidence=(Evidence(LIBRARY_PATH, ":".join(entries), "environment"),),
        fixes=(
            Fix(f"Keep only CUDA {found[newest][1].short} in {LIBRARY_PATH}, here and in the profile that sets it", set_library_path(left)),
        ),
    )


def _toolkits_with_folders(machine: MachineView, entries: list[str]) -> Iterator[tuple[Version, str]]:
    """Yield the toolkits with their folders: those on disk, or in a text those that the entries of the path name."""
    if not isinstance(machine.observed.text_log, TextLog):
        yield from ((version, place) for version, place in system_cudas(machine.known_toolkits) if place not in {"", "/usr"})
        return
    for entry in entries:
        named = _FOLDER.match(entry)
        version = versions.parse_version(named["release"]) if named else None
        if named and version:
            yield version, named[0]


def _is_inside(entry: str, place: str) -> bool:
    return f"{entry}/".startswith(f"{place}/")
