"""torchvision and torchaudio: libraries that must match the release and build of the framework."""

from gpudoctor.derive import FrameworkView, MachineView, not_applicable
from gpudoctor.derive.demands import Violation
from gpudoctor.derive.packages import Stack
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.message_fixes import usual_fixes
from gpudoctor.diagnose.advice.packages import REINSTALL, install_fix
from gpudoctor.diagnose.advice.requirements import distribution_evidence, installed_or_requested, requirement_evidence, rule_for_violation
from gpudoctor.diagnose.rules.builds.add_ons import releases_for_framework
from gpudoctor.findings import Fix, Problem, Problems, Severity
from gpudoctor.frameworks.torch import TORCH
from gpudoctor.snapshot import Distribution
from gpudoctor.versions import parse_version


def companion_problems(framework: FrameworkView, name: str) -> Problems:
    """Report a library that requires another release of the framework, or was built for another CUDA."""
    if name not in framework.spec.companions:
        not_applicable(f"{name} is not published for it")
    stack = framework.environment.stack
    own, library = stack.distributions.get(framework.name), stack.distributions.get(name)
    if own is None or library is None:
        not_applicable(f"{framework.name} and {name} are not both installed")
    if not stack.stated(library) and any(violation.found == own and stack.stated(violation.demand.by) for violation in stack.violations):
        not_applicable(f"a stated package requires another {own.name}, and with it another {name}")
    conflicts = (violation for violation in stack.violations if rule_for_violation(violation) == f"{framework.name}-{name}-mismatch")
    refused = [violation for violation in conflicts if not _lacks_only_local_version(violation)]
    builds = {_build_tag(own.version), _build_tag(library.version)}
    if builds == {""} and stack.supposed:
        builds = {_default_build(own, stack), _default_build(library, stack)}
    served = builds if _needs_same_minor(library, framework) else {_tag_of_major(build) for build in builds}
    if not refused and (len(served) == 1 or "" in served):
        return
    differ = f"{own.label} and {library.label} are built for different CUDA versions ({' and '.join(sorted(builds))})"
    if refused:
        differ = f"{refused[0].demand.text}, but {own.label} {installed_or_requested(stack)}"
    yield Problem(
        message=f"{differ}: {name}'s compiled operators do not load.",
        severity=Severity.ERROR if stack.supposed else None,
        evidence=(distribution_evidence(own), distribution_evidence(library), *requirement_evidence(refused)),
        fixes=_install_fitting_release(framework, own, library),
    )


def _lacks_only_local_version(violation: Violation) -> bool:
    """Return whether only the local version of a pin is unmet by a release without one, as of torchvision 0.11.0 and torch 1.10.0."""
    release, _, local = violation.demand.requirement.specifier.partition("+")
    return bool(local) and "+" not in violation.found.version and satisfies(violation.found.version, release) is True


def _build_tag(version: str) -> str:
    """Return the build that a local version names (cu121, cpu); empty if it names none."""
    tag = version.partition("+")[2]
    return tag if tag.startswith(("cu", "cpu")) else ""


def _needs_same_minor(library: Distribution, framework: FrameworkView) -> bool:
    """Return whether the library refuses a framework that is built for another minor version of its CUDA."""
    since, version = framework.machine.matrix.bound(library.name, "other-cuda-minor"), parse_version(library.version)
    return since is None or version is None or version < since


def _tag_of_major(build: str) -> str:
    """Return the build without the minor version of its CUDA: cu13 of cu132."""
    return build[:-1] if build.startswith("cu") else build


def _default_build(distribution: Distribution, stack: Stack) -> str:
    """Return the build that the package index has of a release; empty if it has no CUDA or none is known."""
    row = stack.row(distribution)
    cuda = row.built_with_cuda if row is not None and row.accelerator == "cuda" else None
    return f"cu{cuda.major}{cuda.minor}" if cuda is not None else ""


def _install_fitting_release(framework: FrameworkView, own: Distribution, library: Distribution) -> tuple[Fix, ...]:
    """Return the fix that installs the library's release for this framework, or matching releases of both."""
    fitting = releases_for_framework(framework, library.name)
    shared = _default_build(library, framework.environment.stack)
    if not fitting and shared:
        pins = tuple(f"{distribution.name}=={distribution.version.partition('+')[0]}+{shared}" for distribution in (own, library))
        title = f"Install {own.name} and {library.name} in the build {shared}"
        return (install_fix(title, framework.machine.observed.python, *pins, index=f"{framework.spec.wheel_index}/{shared}"),)
    if not fitting:
        return install_framework(framework.machine, own.name, title=f"Install matching releases of {own.name} and {library.name}")
    release, tag = str(fitting[-1].release), _build_tag(own.version)
    # pip keeps the installed release if only the local version differs
    same = library.version.partition("+")[0] == release and not tag
    return (_install_companion_release(framework, library.name, release, tag, REINSTALL if same else ()),)


def _install_companion_release(framework: FrameworkView, name: str, release: str, tag: str, options: tuple[str, ...] = ()) -> Fix:
    """Return the fix that installs a release of a library in the build of its framework."""
    pin = f"{name}=={release}{f'+{tag}' if tag else ''}"
    index = f"{framework.spec.wheel_index}/{tag}" if tag else ""
    return install_fix(
        f"Install the {name} that matches {framework.label}", framework.machine.observed.python, pin, options=options, index=index
    )


def install_companion(machine: MachineView, name: str) -> tuple[Fix, ...]:
    """Return the fix where only a log names the mismatch: the library's release for the framework that the text states, if it does."""
    beside = ((framework, releases_for_framework(framework, name)) for framework in machine.frameworks if name in framework.spec.companions)
    fixes = (
        (_install_companion_release(framework, name, str(fitting[-1].release), _build_tag(framework.label)),)
        for framework, fitting in beside
        if fitting
    )
    return next(fixes, usual_fixes(machine, f"{TORCH.name}-{name}-mismatch"))
