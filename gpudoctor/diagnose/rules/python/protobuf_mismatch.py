from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView, not_applicable
from gpudoctor.derive.demands import Violation
from gpudoctor.derive.packages import major, source_of
from gpudoctor.derive.specifiers import contradict, satisfies
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.requirements import accepted, as_evidence, is_there, requirements, unmet_requirements, violations_for
from gpudoctor.diagnose.rule import TRAINING_FAILS, Explains, Join, rule
from gpudoctor.findings import Confidence, Evidence, Problem, Rung, Severity
from gpudoctor.frameworks import stack_of
from gpudoctor.matrix import FrameworkRelease

_REFUSES_OLD_CODE = 4
"""The protobuf that refuses code generated before 3.19 (protobuf.dev/news/2022-05-06)."""


@rule(
    "GD606",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    on_cpu_too=True,
    explains=(Explains(TRAINING_FAILS, "The import fails in code that protobuf generated.", Join.FRAMEWORK),),
)
def protobuf_mismatch(framework: FrameworkView) -> Iterator[Problem]:
    """protobuf version is incompatible with the framework."""
    stack = framework.environment.stack
    if "protobuf" not in stack.distributions:
        not_applicable("protobuf is not installed")
    violations = violations_for(protobuf_mismatch.name, framework)
    if not violations:
        yield from _bounded_by_later_release(framework)
        return
    fails = stack.supposed or any(violation.older or _allows_old_code_only(violation) for violation in violations)
    wanted = accepted(violations)
    yield Problem(
        message=unmet_requirements(violations, stack),
        severity=None if fails else Severity.WARNING,
        confidence=Confidence.CERTAIN if stack.supposed else Confidence.LIKELY,
        evidence=(as_evidence(violations[0].found), *requirements(violations)),
        fixes=(install_fix(f"Install {wanted}", framework.environment.observed.python, wanted),),
    )


def _bounded_by_later_release(framework: FrameworkView) -> Iterator[Problem]:
    """Report protobuf 4 or newer with an old release that set no upper bound, by the bound of the next release."""
    stack = framework.environment.stack
    protobuf = stack.distributions["protobuf"]
    for part in stack.distributions.values():
        row = stack.row(part) if stack_of(part.name) == framework.name else None
        if row is None or _upper_bound(row):
            continue
        newer = [other for other in framework.machine.matrix.releases(row.distribution, row.platform) if other.release > row.release]
        bounded = next((other for other in newer if _upper_bound(other)), None)
        if bounded is None or (major(protobuf.version) or 0) < _REFUSES_OLD_CODE:
            continue
        bound = _upper_bound(bounded)
        if satisfies(protobuf.version, bound.removeprefix("protobuf")) is False:
            yield Problem(
                message=f"{protobuf.label} {is_there(stack)}, but {part.label} needs {bound} (its metadata has no upper bound; {bounded.release}'s has).",
                confidence=Confidence.LIKELY,
                evidence=(
                    as_evidence(protobuf),
                    Evidence(f"{row.distribution} {bounded.release} requires", bound, source_of(bounded)),
                ),
                fixes=(install_fix(f"Install {bound}", framework.environment.observed.python, bound),),
            )


def _upper_bound(row: FrameworkRelease) -> str:
    """Return the requirement that bounds protobuf from above; empty if the release has none."""
    return next((text for text in row.requires if text.startswith("protobuf") and "<" in text), "")


def _allows_old_code_only(violation: Violation) -> bool:
    """Return whether protobuf 4 or newer is installed and only older versions are allowed."""
    newer = (major(violation.found.version) or 0) >= _REFUSES_OLD_CODE
    return newer and contradict((violation.demand.requirement.specifier, f">={_REFUSES_OLD_CODE}"))
