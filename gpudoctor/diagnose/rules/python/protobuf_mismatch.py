import msgspec

from gpudoctor.derive import FrameworkView, not_applicable
from gpudoctor.derive.demands import Violation
from gpudoctor.derive.left_open import may_be_chosen, upper_bound
from gpudoctor.derive.packages import Stack, major, source_of
from gpudoctor.derive.specifiers import contradict, satisfies
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.requirements import (
    accepted,
    accepted_in_short,
    as_evidence,
    is_there,
    requirements,
    unmet_requirements,
    violations_for,
)
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Confidence, Evidence, Impact, Problem, Problems, Rung, Severity
from gpudoctor.frameworks import stack_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution
from gpudoctor.versions import Version, parse

_REFUSES_OLD_CODE = 4
"""The protobuf that refuses code generated before 3.19 (protobuf.dev/news/2022-05-06)."""
_PYTHON_OF_4 = Version(3, 7)
"""The oldest Python with a wheel of that protobuf."""


@rule("GD606", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, on_cpu_too=True, impact=Impact.AT_RISK)
@explains(TRAINING_FAILS, "The import fails in code that protobuf generated.", Join.FRAMEWORK)
def protobuf_mismatch(framework: FrameworkView) -> Problems:
    """protobuf version is incompatible with the framework."""
    stack = framework.environment.stack
    bounded = _bounded_by_later_release(framework)
    protobuf = stack.distributions.get("protobuf")
    if protobuf is None:
        of_old_code = [part for part in bounded if contradict((part.upper, f">={_REFUSES_OLD_CODE}"))]
        if not of_old_code or not _chooses_4(stack):
            not_applicable("protobuf is not installed")
        yield from (_may_be_too_new(part, framework) for part in of_old_code)
        return
    violations = violations_for(protobuf_mismatch.name, framework)
    if not violations:
        yield from (_too_new(part, protobuf, framework) for part in bounded if _refuses(protobuf, part))
        return
    unfit = framework.unfit_module
    seen = unfit is not None and unfit.owner.startswith("protobuf==")
    fails = stack.supposed or seen or any(violation.older or _allows_old_code_only(violation) for violation in violations)
    wanted = accepted(violations)
    yield Problem(
        message=unmet_requirements(violations, stack),
        severity=None if fails else Severity.WARNING,
        confidence=Confidence.CERTAIN if stack.supposed else Confidence.LIKELY,
        evidence=(as_evidence(violations[0].found), *requirements(violations)),
        fixes=(install_fix(f"Install {accepted_in_short(violations)}", framework.environment.observed.python, wanted),),
    )


class _Bounded(msgspec.Struct, frozen=True):
    """A part of a framework that states no upper bound, and the next release that does."""

    part: Distribution
    later: FrameworkRelease
    upper: str
    """The later release's upper bound, "<3.20"."""
    wanted: str
    """The requirement with that bound."""

    @property
    def why(self) -> str:
        return f"its metadata has no upper bound; {self.later.release}'s has"

    @property
    def evidence(self) -> Evidence:
        return Evidence(f"{self.later.distribution} {self.later.release} requires", f"protobuf{self.upper}", source_of(self.later))


def _bounded_by_later_release(framework: FrameworkView) -> list[_Bounded]:
    """Return what sets no upper bound for protobuf although a later release does."""
    stack, found = framework.environment.stack, []
    for part in stack.distributions.values():
        row = stack.row(part) if stack_of(part.name) == framework.name else None
        own = next((text for text in row.requires if text.startswith("protobuf")), "") if row is not None else ""
        if row is None or not own or upper_bound(row.requires, "protobuf"):
            continue
        newer = (other for other in framework.machine.matrix.releases(row.distribution, row.platform) if other.release > row.release)
        bounds = ((other, upper_bound(other.requires, "protobuf")) for other in newer)
        later, upper = next(((other, bound) for other, bound in bounds if bound), (None, ""))
        if later is not None:
            found.append(_Bounded(part, later, upper, f"protobuf{upper},{own.removeprefix('protobuf')}"))
    return found


def _chooses_4(stack: Stack) -> bool:
    """Return whether an installer chooses protobuf 4 or newer where none is stated."""
    python = parse(stack.python)
    return python is not None and python >= _PYTHON_OF_4 and may_be_chosen(stack, "protobuf", f">={_REFUSES_OLD_CODE}")


def _refuses(protobuf: Distribution, bounded: _Bounded) -> bool:
    """Return whether a protobuf is beyond a later release's bound, and does not run old code."""
    return (major(protobuf.version) or 0) >= _REFUSES_OLD_CODE and satisfies(protobuf.version, bounded.upper) is False


def _too_new(bounded: _Bounded, protobuf: Distribution, framework: FrameworkView) -> Problem:
    there = is_there(framework.environment.stack)
    return Problem(
        message=f"{protobuf.label} {there}, but {bounded.part.label} needs {bounded.wanted} ({bounded.why}).",
        confidence=Confidence.LIKELY,
        evidence=(as_evidence(protobuf), bounded.evidence),
        fixes=(install_fix(f"Install {bounded.wanted}", framework.environment.observed.python, bounded.wanted),),
    )


def _may_be_too_new(bounded: _Bounded, framework: FrameworkView) -> Problem:
    return Problem(
        message=f"An installer chooses a protobuf that is too new for {bounded.part.label}, which needs {bounded.wanted} ({bounded.why}).",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        evidence=(Evidence("protobuf", "not stated", "stated packages"), bounded.evidence),
        fixes=(install_fix(f"Add {bounded.wanted}", framework.environment.observed.python, bounded.wanted),),
    )


def _allows_old_code_only(violation: Violation) -> bool:
    """Return whether protobuf 4 or newer is installed and only older versions are allowed."""
    newer = (major(violation.found.version) or 0) >= _REFUSES_OLD_CODE
    return newer and contradict((violation.demand.requirement.specifier, f">={_REFUSES_OLD_CODE}"))
