"""GD604: wrong-python-environment."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.package_facts import shown
from gpudoctor.diagnose.preflight import Answer, judged
from gpudoctor.diagnose.rule import Explains, need, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Level, Policy, Problem, Rung, Severity, SubjectKind
from gpudoctor.frameworks import framework_of
from gpudoctor.snapshot import Distribution, Python, Snapshot


@rule(
    "GD604",
    severity=Severity.WARNING,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.ENVIRONMENT,
    predicts=False,
    explains=(Explains(("framework-missing",), ""),),
)
def wrong_python_environment(machine: MachineView, snapshot: Snapshot, policy: Policy, python: Python) -> Iterator[Problem]:
    """The framework is installed in another environment than the examined one.

    ## Why it matters
    Each interpreter has packages of its own. A framework that was installed with another `pip`, into another environment or for another
    user, does not exist for this one: "No module named ..." although it is installed.

    ## What to do
    Run and examine the environment that holds it, or install it with the interpreter that you run: `python -m pip` never goes to another.

    ## References
    - https://packaging.python.org/en/latest/guides/installing-using-pip-and-virtual-environments/
    """
    found = need(snapshot.frameworks)
    if found:
        return
    others: tuple[Distribution, ...] = need(python.elsewhere)
    if not others:
        return
    lacking = [one.requirement.subject for one in judged(machine, None) if one.answer is Answer.LACKING]
    required = any(framework_of(one.name) in lacking for one in others)
    look_only = policy.level in {None, Level.LOOK, Level.TOUCH}
    first = others[0]
    environment = first.where.partition("/lib/")[0].removesuffix("/local")
    yield Problem(
        message=f"{python.executable} ({python.why}) holds no framework; {first.label} is installed in {environment}.",
        severity=Severity.ERROR if required else Severity.NOTE if look_only else None,
        confidence=Confidence.LIKELY,
        evidence=(Evidence("frameworks in the examined environment", "none", "the folders on sys.path"), *map(shown, others)),
        fixes=(
            Fix(
                "Use that environment: put it first on PATH",
                f'export PATH={shell_path(environment)}/bin:"$PATH"',
                verify=f"gpudoctor check --python {shell_path(environment)}",
            ),
            *_into_this_one(first, machine),
        ),
    )


def _into_this_one(first: Distribution, machine: MachineView) -> tuple[Fix, ...]:
    """The same framework, in a release that works here."""
    framework = framework_of(first.name)
    return install_framework(machine, framework, kind=FixKind.INSTEAD) if framework else ()
