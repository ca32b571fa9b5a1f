from gpudoctor.derive import EnvironmentView
from gpudoctor.derive.same_package import preferred
from gpudoctor.diagnose.advice.packages import REINSTALL, install_fix
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Confidence, Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words
from gpudoctor.frameworks import Names, framework_of
from gpudoctor.snapshot import Missing, OverwrittenPackage

_WITH_OWN_RULE = Names("cupy*")
"""Has a rule of its own for two copies, as frameworks have."""


@rule("GD650", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY, predicts=False)
def packages_overwrite_each_other(environment: EnvironmentView) -> Problems:
    """Packages that own the same files are installed together."""
    for group in environment.packages.overwritten:
        names = tuple(map(_name, group.owners))
        if not any(framework_of(name) or name in _WITH_OWN_RULE for name in names):
            yield _overlap_problem(group, names, environment)
    libraries = environment.machine.observed.libraries
    seen = () if isinstance(libraries, Missing) else libraries.frameworks
    required = {demand.requirement.name for demand in environment.stack.hollow} | {one.owner for view in seen for one in view.broken}
    for pin in environment.packages.emptied:
        if _name(pin) not in required:
            yield Problem(
                message=f"{_label(pin)} is listed as installed, but its files are gone.",
                title="Files of a package are gone",
                evidence=(Evidence(_label(pin), "only its metadata is left", "RECORD"),),
                fixes=(install_fix(f"Reinstall {_name(pin)}", environment.observed.python, pin, options=REINSTALL),),
            )


def _overlap_problem(group: OverwrittenPackage, names: tuple[str, ...], environment: EnvironmentView) -> Problem:
    labels, present = [_label(pin) for pin in group.owners], sum(map(bool, group.owned_now))
    on_gpu = any(package.name == name for package in environment.packages.distributions for name in names)
    return Problem(
        message=f"{joined_words(labels)} own the same files in {group.where}/{group.package}; {_origin_clause(group)}.",
        severity=None if present > 1 or (present and on_gpu) else Severity.NOTE,
        confidence=Confidence.CERTAIN,
        evidence=tuple(
            Evidence(_label(pin), f"owns {count} of the {group.files} shared files as they are now", "RECORD")
            for pin, count in zip(group.owners, group.owned_now, strict=True)
        ),
        fixes=(_fix_to_keep_one(group, names, environment),),
    )


def _origin_clause(group: OverwrittenPackage) -> str:
    """Return whose files those are now, as a clause."""
    present = [_label(pin) for pin, count in zip(group.owners, group.owned_now, strict=True) if count]
    if len(present) == 1:
        return f"`import {group.package}` loads {present[0]}"
    return f"files of {joined_words(present)} are mixed" if present else "removing one deletes the files of the other"


def _fix_to_keep_one(group: OverwrittenPackage, names: tuple[str, ...], environment: EnvironmentView) -> Fix:
    """Return the fix that removes all of them, since each removal deletes files of the rest, and installs the one to keep."""
    most = max(zip(group.owned_now, group.owners, strict=True), key=lambda pair: pair[0])[1]
    pin = next((pin for pin in group.owners if _name(pin) == preferred(names)), most)
    title = f"Remove {joined_words(names)}, and install {_label(pin)} alone"
    return install_fix(title, environment.observed.python, pin, replace=names)


def _name(pin: str) -> str:
    return pin.partition("==")[0]


def _label(pin: str) -> str:
    return pin.replace("==", " ")
