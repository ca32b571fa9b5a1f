import msgspec

from gpudoctor.conditions import FRAMEWORKS
from gpudoctor.derive import EnvironmentView, MachineView, not_applicable
from gpudoctor.diagnose.advice.damaged_files import make_readable
from gpudoctor.diagnose.advice.installing import install_framework, install_pick
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.required_conditions import Fulfilment, checked_conditions
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Action, Confidence, Evidence, Fix, FixKind, Impact, Level, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import few_names, first_few
from gpudoctor.frameworks import spec_of
from gpudoctor.snapshot import Missing, Python

_NAME_ENVIRONMENT = Fix("Check the environment that you train with", "gpudoctor check --python PATH", kind=FixKind.CHECK)
_PIP_PREFIXES = "~-.=%0123456789"
"""The characters that pip puts before the rest of a name: https://github.com/pypa/pip/blob/main/src/pip/_internal/utils/temp_dir.py"""
_SEARCHED_PLACE = "the folders on sys.path"


@rule("GD601", severity=Severity.WARNING, breaks=Rung.FRAMEWORK, impact=Impact.PARTLY, predicts=False, checks_required="any")
def framework_missing(environment: EnvironmentView) -> Problems:
    """No framework is installed in this environment."""
    machine, python = environment.machine, environment.observed.python
    if machine.supposed:
        not_applicable("the packages are planned, not installed")
    installed = [framework.name for framework in machine.known_frameworks]
    place = f"{python.executable} ({python.why})" if isinstance(python, Python) else "this environment"
    missing = _missing_frameworks(machine, installed)
    for name, (text, how) in missing.items():
        accepts = text.removeprefix(name) if text.startswith(name) else ""
        yield Problem(
            message=f"{text} is {how}, but {name if name != text else 'it'} is not installed in {place}.",
            title=f"{text} is {how} but not installed",
            severity=Severity.ERROR,
            evidence=(Evidence("frameworks found", ", ".join(installed) or "none", _SEARCHED_PLACE),),
            fixes=(_NAME_ENVIRONMENT, *_first_installs(install_framework(machine, name, accepts=accepts))),
        )
    packages = environment.observed.packages
    closed, astray = ((), ()) if installed or isinstance(packages, Missing) else (packages.closed, packages.astray)
    if closed:
        yield Problem(
            message=f"This user may not read {few_names(closed)}: no import in {place} finds a package there.",
            title="Installed packages cannot be read",
            severity=Severity.ERROR,
            impact=Impact.CANNOT_TRAIN,
            evidence=tuple(Evidence("folder on sys.path", "permission denied", folder) for folder in first_few(closed)),
            fixes=(make_readable(closed),),
        )
    elif astray:
        yield Problem(
            message=f"{astray[0]} is a link that leads nowhere: no import in {place} finds a package there.",
            title="The folder of installed packages is gone",
            severity=Severity.ERROR,
            impact=Impact.CANNOT_TRAIN,
            evidence=(Evidence("link", "leads nowhere", astray[0]),),
            fixes=(Fix("Mount or restore what the link leads to, or create the environment again.", action=Action.REINSTALL_PACKAGE),),
        )
    elif not installed and (interrupted := _frameworks_set_aside(environment)):
        yield from (_set_aside_problem(*one, environment, place) for one in interrupted)
    elif not installed and not missing:
        look_only = machine.policy.level in {None, Level.LOOK, Level.TOUCH}
        yield Problem(
            message=f"Neither TensorFlow, PyTorch nor JAX is installed in {place}.",
            severity=Severity.NOTE if look_only else None,
            evidence=(Evidence("frameworks found", "none", _SEARCHED_PLACE),),
            fixes=(_NAME_ENVIRONMENT, *_first_installs(_install_any_framework(machine))),
        )


def _frameworks_set_aside(environment: EnvironmentView) -> list[tuple[str, str, str]]:
    """Return the frameworks that a pip which did not end had set aside, each with the name of its distribution and its version.

    While pip removes torch, it renames its folders to ~orch.
    """
    aside = {name: version for name, version in environment.versions.items() if name.startswith("~")}
    return [
        (framework, distribution, version)
        for framework in FRAMEWORKS
        for distribution in spec_of(framework).distributions
        for name, version in aside.items()
        if len(name) == len(distribution) and distribution.endswith(name.lstrip(_PIP_PREFIXES))
    ]


def _set_aside_problem(framework: str, distribution: str, version: str, environment: EnvironmentView, place: str) -> Problem:
    """Return the finding for a framework that pip has set aside and not put back."""
    left = f"~{distribution[1:]}"
    return Problem(
        message=f"{distribution} {version} is no longer installed in {place}: pip did not finish when it replaced or removed it, and left it as {left}.",
        title="An interrupted pip removed the framework",
        severity=Severity.ERROR,
        confidence=Confidence.LIKELY,
        impact=Impact.CANNOT_TRAIN,
        evidence=(Evidence(left, version, _SEARCHED_PLACE),),
        fixes=(
            *_first_installs(install_framework(environment.machine, framework, near=version)),
            Fix(f"Delete the folders whose names begin with {left}: pip ignores them, and they take space."),
        ),
    )


def _missing_frameworks(machine: MachineView, installed: list[str]) -> dict[str, tuple[str, str]]:
    """Return the requested frameworks that are not installed: by name, what was requested and how."""
    missing = {name: (name, "requested with --framework") for name in machine.policy.frameworks if name not in installed}
    for answer in checked_conditions(machine, None):
        requirement = answer.requirement
        if answer.answer is Fulfilment.LACKING and requirement.subject in FRAMEWORKS:
            missing[requirement.subject] = (requirement.text, "required")
    return missing


def _first_installs(fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """Return the fixes, with those that install a package marked as first-time installs."""
    return tuple(msgspec.structs.replace(fix, action=fix.action or Action.INSTALL_PACKAGE) for fix in fixes)


def _install_any_framework(machine: MachineView) -> tuple[Fix, ...]:
    """Return fixes that install a framework with a release that works here, the others as alternatives."""
    picks = [(name, found) for name in FRAMEWORKS if (found := pick_release(machine, name)) is not None]
    if not picks:
        return install_framework(machine, next(iter(FRAMEWORKS)))
    kinds = (FixKind.FIX, *(FixKind.INSTEAD for _ in picks[1:]))
    return tuple(install_pick(machine, name, found, kind=kind) for kind, (name, found) in zip(kinds, picks, strict=True))
