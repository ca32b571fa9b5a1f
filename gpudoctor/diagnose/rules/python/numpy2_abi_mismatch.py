from gpudoctor.derive import FrameworkView, not_applicable
from gpudoctor.derive.open_requirements import can_be_chosen
from gpudoctor.derive.packages import major, source_of
from gpudoctor.diagnose.advice.installing import install_pick
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.advice.requirements import distribution_evidence, installed_or_requested, requirement_evidence, violations_for
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.frameworks import stack_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution, UnfitKind


@rule("GD605", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, on_cpu_too=True, impact=Impact.AT_RISK)
@explains(TRAINING_FAILS, "The import fails, or tensors cannot be converted to arrays.", Join.FRAMEWORK)
def numpy2_abi_mismatch(framework: FrameworkView) -> Problems:
    """Framework is compiled for NumPy 1, but NumPy 2 is installed."""
    stack = framework.environment.stack
    numpy, requested = stack.distributions.get("numpy"), stack.bounds.get("numpy")
    if numpy is not None:
        found, is_2 = distribution_evidence(numpy), (major(numpy.version) or 0) >= 2
    elif requested is not None:
        found, is_2 = Evidence("numpy", requested.requirement.specifier, requested.where), stack.excludes("numpy", "<2")
    else:
        if not _parts_for_numpy_1(framework) or not can_be_chosen(stack, "numpy", ">=2"):
            not_applicable("NumPy is not installed")
        yield _possible_numpy_2(framework)
        return
    if not is_2:
        return
    bounded = violations_for(numpy2_abi_mismatch.name, framework)
    compiled = _parts_for_numpy_1(framework)
    if not bounded and not compiled:
        yield from _at_a_required_package(framework, found)
        return
    label = (compiled[0][0] if compiled else bounded[0].demand.by).label
    yield Problem(
        message=f"{label} is compiled for NumPy 1, but NumPy {found.value} {installed_or_requested(stack)}.",
        confidence=Confidence.CERTAIN if compiled or stack.supposed else Confidence.LIKELY,
        evidence=(
            found,
            *(Evidence(f"NumPy that {built.label} is compiled for", "1", source_of(row)) for built, row in compiled),
            *requirement_evidence(bounded),
        ),
        fixes=(
            install_fix("Downgrade NumPy to 1.x", framework.environment.observed.python, "numpy<2"),
            *_install_numpy_2_build(framework),
        ),
    )


def _at_a_required_package(framework: FrameworkView, numpy: Evidence) -> Problems:
    """Yield that a package which the framework requires is compiled for NumPy 1; where its version is refused, that is said by the rule about requirements."""
    module = framework.unfit_module
    if module is not None and module.kind is UnfitKind.ANOTHER_NUMPY and not module.requirement:
        label = module.owner.replace("==", " ")
        yield Problem(
            message=f"{label} is compiled for NumPy 1, but NumPy {numpy.value} is installed: `import {framework.name}` fails.",
            title="Required package is compiled for NumPy 1, but NumPy 2 is installed",
            evidence=(numpy, Evidence(f"NumPy that {label} is compiled for", "1", module.path)),
            fixes=(install_fix("Downgrade NumPy to 1.x", framework.environment.observed.python, "numpy<2"),),
        )


def _parts_for_numpy_1(framework: FrameworkView) -> list[tuple[Distribution, FrameworkRelease]]:
    """Return the framework's parts whose binaries only run with NumPy 1."""
    own = framework.observed.distribution
    built_for_1 = framework.environment.stack.built_for_numpy_1
    return [(built, row) for built, row in built_for_1 if stack_of(built.name) == framework.name or built.name == own]


def _possible_numpy_2(framework: FrameworkView) -> Problem:
    """Return the finding for a combination that names no NumPy, where an installer chooses NumPy 2."""
    built, row = _parts_for_numpy_1(framework)[0]
    return Problem(
        message=f"{built.label} is compiled for NumPy 1, but an installer chooses NumPy 2: no requirement excludes it.",
        title="Framework is compiled for NumPy 1, but an installer chooses NumPy 2",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        evidence=(
            Evidence("numpy", "not stated", "stated packages"),
            Evidence(f"NumPy that {built.label} is compiled for", "1", source_of(row)),
        ),
        fixes=(install_fix("Add numpy<2", framework.environment.observed.python, "numpy<2"),),
    )


def _install_numpy_2_build(framework: FrameworkView) -> tuple[Fix, ...]:
    """Return the fix that installs the nearest release compiled for NumPy 2, if one works here."""
    machine = framework.machine
    rows = machine.matrix.releases(framework.observed.distribution)
    first = next((row.release for row in rows if row.numpy_abi == 2), None)
    found = pick_release(machine, framework.name, accepts=f">={first}") if first is not None else None
    if found is None or found.release == framework.release:
        return ()
    return (
        install_pick(machine, framework.name, found, title=f"Install {found.name}, which is compiled for NumPy 2", kind=FixKind.INSTEAD),
    )
