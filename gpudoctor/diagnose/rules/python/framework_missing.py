"""GD601: framework-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.installing import install, install_framework
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.preflight import Answer, judged
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Policy, Problem, Rung, Severity, SubjectKind
from gpudoctor.preflight import FRAMEWORKS
from gpudoctor.snapshot import Missing, Python, Snapshot

_ELSEWHERE = Fix("Examine the environment that you train with", "gpudoctor check --python PATH", kind=FixKind.CHECK)


@rule(
    "GD601",
    severity=Severity.WARNING,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.ENVIRONMENT,
    predicts=False,
    checks_required="any",
)
def framework_missing(machine: MachineView, snapshot: Snapshot, policy: Policy, python: Python | Missing) -> Iterator[Problem]:
    """No framework, or not the required one, is installed in the examined environment.

    ## Why it matters
    Training was to be proven, and there is nothing to train with: the check could only look at the driver. Most often another
    environment was meant. A framework that was asked for with `--require` or `--framework` and is not there is an error.

    ## What to do
    Name the environment with `--python`, or activate it, or install a framework into this one.

    ## References
    - https://www.tensorflow.org/install/pip
    """
    if snapshot.origin == "supposed":
        not_applicable("nothing was asked for but what was named")
    found = need(snapshot.frameworks)
    place = f"{python.executable} ({python.why})" if isinstance(python, Python) else "the examined environment"
    names = [one.name for one in found]
    lacking = {name: (name, "named with --framework") for name in policy.frameworks if name not in names}
    required = [one.requirement for one in judged(machine, None) if one.answer is Answer.LACKING and one.requirement.subject in FRAMEWORKS]
    lacking |= {one.subject: (one.text, "required") for one in required}
    for name, (text, wanted) in lacking.items():
        yield Problem(
            message=f"{text} is {wanted}, and {name if name != text else 'it'} is not installed in {place}.",
            title=f"{text} is {wanted} and not installed",
            severity=Severity.ERROR,
            evidence=(Evidence("frameworks found", ", ".join(names) or "none", "the folders on sys.path"),),
            fixes=(_ELSEWHERE, *install_framework(machine, name, accepts=text.removeprefix(name) if text.startswith(name) else "")),
        )
    if found or lacking:
        return
    look_only = policy.level in {None, Level.LOOK, Level.TOUCH}
    yield Problem(
        message=f"Neither TensorFlow, PyTorch nor JAX is installed in {place}.",
        severity=Severity.NOTE if look_only else None,
        evidence=(Evidence("frameworks found", "none", "the folders on sys.path"),),
        fixes=(_ELSEWHERE, *_any_framework(machine)),
    )


def _any_framework(machine: MachineView) -> tuple[Fix, ...]:
    """The first framework of which a release works here, and the others in its place."""
    found = [(name, one) for name in FRAMEWORKS if (one := pick(machine, name)) is not None]
    return tuple(
        install(machine, name, one, kind=FixKind.INSTEAD if number else FixKind.FIX) for number, (name, one) in enumerate(found)
    ) or install_framework(machine, next(iter(FRAMEWORKS)))
