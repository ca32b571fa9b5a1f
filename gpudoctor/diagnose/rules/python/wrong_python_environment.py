from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import EnvironmentView, known
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.requirements import as_evidence
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.preflight import Fulfilment, checked
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Impact, Level, Problem, Rung, Severity
from gpudoctor.frameworks import framework_of


@rule(
    "GD604",
    severity=Severity.WARNING,
    breaks=Rung.FRAMEWORK,
    impact=Impact.PARTLY,
    predicts=False,
    explains=(Explains(("framework-missing",), "The framework is in another environment."),),
)
def wrong_python_environment(environment: EnvironmentView) -> Iterator[Problem]:
    """Framework is installed in a different Python environment."""
    machine, python = environment.machine, environment.python
    if machine.known_frameworks:
        return
    others = known(python.elsewhere)
    if not others:
        return
    missing = [answer.requirement.subject for answer in checked(machine, None) if answer.answer is Fulfilment.LACKING]
    required = any(framework_of(other.name) in missing for other in others)
    look_only = machine.policy.level in {None, Level.LOOK, Level.TOUCH}
    first = others[0]
    home = first.where.partition("/lib/")[0].removesuffix("/local")
    framework = framework_of(first.name)
    use = Fix(
        "Use that environment (put it first on PATH)",
        f'export PATH={shell_path(home)}/bin:"$PATH"',
        verify=f"gpudoctor check --python {shell_path(home)}",
    )
    yield Problem(
        message=f"{python.executable} ({python.why}) has no framework, but {first.label} is installed in {home}.",
        severity=Severity.ERROR if required else Severity.NOTE if look_only else None,
        confidence=Confidence.LIKELY,
        evidence=(Evidence("frameworks in this environment", "none", "the folders on sys.path"), *map(as_evidence, others)),
        fixes=(use, *(install_framework(machine, framework, kind=FixKind.INSTEAD) if framework else ())),
    )
