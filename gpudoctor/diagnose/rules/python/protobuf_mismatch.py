import msgspec

from gpudoctor.derive import FrameworkView, not_applicable
from gpudoctor.derive.demands import Violation
from gpudoctor.derive.open_requirements import can_be_chosen, upper_bound
from gpudoctor.derive.packages import Stack, major, source_of
from gpudoctor.derive.specifiers import are_contradictory, satisfies
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.requirements import (
    accepted_requirement,
    distribution_evidence,
    installed_or_requested,
    requirement_evidence,
    short_accepted_requirement,
    unmet_requirements_text,
    violations_for,
)
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Confidence, Evidence, Impact, Problem, Problems, Rung, Severity
from gpudoctor.frameworks import stack_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution
from gpudoctor.versions import Version, parse_version

_REFUSING_OLD_CODE = 4
"""The protobuf that refuses code generated before 3.19 (protobuf.dev/news/2022-05-06)."""
_OLDEST_PYTHON = Version(3, 7)
"""The oldest Python with a wheel of that protobuf."""


@rule("GD606", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, on_cpu_too=True, impact=Impact.AT_RISK)
@explains(TRAINING_FAILS, "The import fails in code that protobuf generated.", Join.FRAMEWORK)
def protobuf_mismatch(framework: FrameworkView) -> Problems:
    """protobuf version is incompatible with the framework."""
    stack = framework.environment.stack
    bounded = _later_bounds(framework)
    protobuf = stack.distributions.get("protobuf")
    if protobuf is None:
        of_old_code = [part for part in bounded if are_contradictory((part.upper, f">={_REFUSING_OLD_CODE}"))]
        if not of_old_code or not _is_protobuf_4_chosen(stack):
            not_applicable("protobuf is not installed")
        yield from (_possibly_new_problem(part, framework) for part in of_old_code)
        return
    violations = violations_for(protobuf_mismatch.name, framework)
    if not violations:
        yield from (_too_new_problem(part, protobuf, framework) for part in bounded if _is_beyond_bound(protobuf, part))
        return
    unfit = framework.unfit_module
    seen = unfit is not None and unfit.owner.startswith("protobuf==")
    fails = stack.supposed or seen or any(violation.older or _allows_only_old_code(violation) for violation in violations)
    wanted = accepted_requirement(violations)
    yield Problem(
        message=unmet_requirements_text(violations, stack),
        severity=None if fails else Severity.WARNING,
        confidence=Confidence.CERTAIN if stack.supposed else Confidence.LIKELY,
        evidence=(distribution_evidence(violations[0].found), *requirement_evidence(violations)),
        fixes=(install_fix(f"Install {short_accepted_requirement(violations)}", framework.environment.observed.python, wanted),),
    )


class _LaterBound(msgspec.Struct, frozen=True):
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


def _later_bounds(framework: FrameworkView) -> list[_LaterBound]:
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
            found.append(_LaterBound(part, later, upper, f"protobuf{upper},{own.removeprefix('protobuf')}"))
    return found


def _is_protobuf_4_chosen(stack: Stack) -> bool:
    """Return whether an installer chooses protobuf 4 or newer where none is stated."""
    python = parse_version(stack.python)
    return python is not None and python >= _OLDEST_PYTHON and can_be_chosen(stack, "protobuf", f">={_REFUSING_OLD_CODE}")


def _is_beyond_bound(protobuf: Distribution, bounded: _LaterBound) -> bool:
    """Return whether a protobuf is beyond a later release's bound, and does not run old code."""
    return (major(protobuf.version) or 0) >= _REFUSING_OLD_CODE and satisfies(protobuf.version, bounded.upper) is False


def _too_new_problem(bounded: _LaterBound, protobuf: Distribution, framework: FrameworkView) -> Problem:
    there = installed_or_requested(framework.environment.stack)
    return Problem(
        message=f"{protobuf.label} {there}, but {bounded.part.label} needs {bounded.wanted} ({bounded.why}).",
        confidence=Confidence.LIKELY,
        evidence=(distribution_evidence(protobuf), bounded.evidence),
        fixes=(install_fix(f"Install {bounded.wanted}", framework.environment.observed.python, bounded.wanted),),
    )


def _possibly_new_problem(bounded: _LaterBound, framework: FrameworkView) -> Problem:
    return Problem(
        message=f"An installer chooses a protobuf that is too new for {bounded.part.label}, which needs {bounded.wanted} ({bounded.why}).",
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        evidence=(Evidence("protobuf", "not stated", "stated packages"), bounded.evidence),
        fixes=(install_fix(f"Add {bounded.wanted}", framework.environment.observed.python, bounded.wanted),),
    )


def _allows_only_old_code(violation: Violation) -> bool:
    """Return whether protobuf 4 or newer is installed and only older versions are allowed."""
    newer = (major(violation.found.version) or 0) >= _REFUSING_OLD_CODE
    return newer and are_contradictory((violation.demand.requirement.specifier, f">={_REFUSING_OLD_CODE}"))
