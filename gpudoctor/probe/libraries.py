"""The parent's side of the X-ray: the child's arguments, and its answer as a section of the snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from gpudoctor.children.channel import Heard, own, script
from gpudoctor.children.events import LIBRARIES, Preloaded
from gpudoctor.frameworks import spec_of
from gpudoctor.probe.missing_requirements import required_name
from gpudoctor.probe.target_facts import TargetFacts, framework_folder
from gpudoctor.process import ChildOutcome, ChildSpec
from gpudoctor.snapshot import Cause, Distribution, Extension, Fact, Framework, FrameworkLibraries, Libraries, Missing
from gpudoctor.snapshot.libraries import WHOLE

PRELOAD_VARIABLES = ("LD_PRELOAD", "LD_AUDIT")
"""Variables by which the loader runs code in every program. Python's are ignored by each script of ours already."""
NOTHING_INSIDE = TargetFacts()
NO_CUDA_FRAMEWORK = Missing(Cause.ABSENT, "no framework built with CUDA is installed")
_CPU_ONLY = Missing(Cause.ABSENT, "a CPU-only build")


def xrayed_frameworks(frameworks: Iterable[Framework], *, cpu_builds: bool = False) -> tuple[Framework, ...]:
    """The frameworks that the X-ray knows and that use CUDA, or that do not state what they use; with `cpu_builds` those without CUDA too."""
    known = (
        framework
        for framework in frameworks
        if spec_of(framework.name).xrayed and (isinstance(framework.location, str) or framework.distribution)
    )
    return tuple(framework for framework in known if (cpu_builds or framework.cuda_build is not False) and framework.rocm_build is not True)


def xray_arguments(
    executable: str,
    path: Iterable[str],
    frameworks: Iterable[Framework],
    root: str,
    seen: TargetFacts = NOTHING_INSIDE,
    *,
    installed: Iterable[Distribution] = (),
) -> tuple[str, ...]:
    """The arguments of libraries_probe.py; `seen` is the target interpreter's report about itself."""
    by_name = {distribution.name: distribution for distribution in reversed(tuple(installed))}
    folders = tuple(path)
    words = ["--executable", seen.executable or executable, "--root", root]
    for entry in folders:
        words += ["--path", entry]
    for framework in frameworks:
        built = (framework.built_with_cuda, framework.built_with_cudnn)
        facts = (fact.value if isinstance(fact, Fact) else "" for fact in built)
        own = by_name.get(framework.distribution)
        words += ["--framework", framework.name, framework_folder(framework, folders, seen, own), *facts]
        if own and (own.lacks or own.hollow):
            absent = [required_name(line).replace("-", "_") for line in own.lacks]
            words += ["--absent", framework.name, ",".join([*absent, *(module for one in own.hollow for module in one.modules)])]
    for name, value in (seen.variables or {}).items():
        words += ["--variable", name, value]
    words += ["--own-variables"] if seen.variables is not None else []
    for name, file in seen.shadowing.items():
        words += ["--shadowed", name, file]
    words += ["--lacking", ",".join(seen.lacking)] if seen.lacking else []
    for file in seen.mapped:
        words += ["--mapped", file]
    return tuple(words)


def xray_child(words: tuple[str, ...], environ: Mapping[str, str], stall: float, deadline: float) -> ChildSpec:
    """The child that looks for libraries. It loads none of the driver's, so what the examined environment preloads does not run in it."""
    preload = environ.get("LD_PRELOAD", "")
    told = ("--variable", "LD_PRELOAD", preload) if preload and "--own-variables" not in words else ()
    ours = {name: value for name, value in environ.items() if name not in PRELOAD_VARIABLES}
    return script("libraries", "own/libraries_probe.py", own(), ours, *words, *told, stall=stall, deadline=deadline)


def libraries(outcome: ChildOutcome, asked: Iterable[Framework]) -> Libraries | Missing:
    """The child's answer. If it ended early, the frameworks that it did not reach are missing with the reason."""
    heard = Heard(outcome, LIBRARIES, "the X-ray")
    asked = tuple(asked)
    for_cpu = {framework.name for framework in asked if framework.cuda_build is False}
    missing, rest = heard.first(Missing), heard.cut
    frameworks = tuple(_without_cuda(one) if one.framework in for_cpu else one for one in heard.all(FrameworkLibraries))
    if rest is None and missing is not None:
        return missing
    if rest is not None and not frameworks:
        return rest
    if rest is not None:
        known = {framework.framework for framework in frameworks}
        frameworks += tuple(FrameworkLibraries(framework.name, code=rest, uses=rest) for framework in asked if framework.name not in known)
    preloaded = next((event.preloaded for event in heard.all(Preloaded)), ())
    return Libraries(frameworks, heard.all(Extension), preloaded, rest or WHOLE)


def _without_cuda(framework: FrameworkLibraries) -> FrameworkLibraries:
    """What the X-ray of a CPU-only build says of its import; the CUDA libraries that a CUDA build of that release would load do not matter."""
    return msgspec.structs.replace(framework, objects=(), code=_CPU_ONLY, code_where="", uses=(), also_loaded=(), unresolved=())
