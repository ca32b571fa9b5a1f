from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Flaw, FrameworkView, is_on_device
from gpudoctor.derive.training import is_within_tolerance, rounded_text
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.diagnose.rules.training.flaws import avoid_device, flawed_training_problems
from gpudoctor.findings import Domain, Evidence, Level, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Real, Smoke


class _ComparedResult(msgspec.Struct, frozen=True):
    """A result compared with a reference: its relative error, and the tolerance for rounding."""

    what: str
    device: str
    error: Real
    tolerance: float


@rule("GD902", severity=Severity.ERROR, breaks=Rung.TRAINED, domain=Domain.ENVIRONMENT, predicts=False, seen_at=Level.TRAIN)
@explains(
    ("smoke-did-not-learn", "smoke-loss-not-finite"), "With wrong results training does not learn, or its loss overflows.", Join.FRAMEWORK
)
def smoke_wrong_result(framework: FrameworkView) -> Problems:
    """Training computes wrong results."""
    for result in _compared_results(framework.smoke):
        if not is_within_tolerance(result.error, result.tolerance):
            yield Problem(
                message=f"{framework.label}: {result.what} on {result.device} is off by {rounded_text(result.error)} "
                f"(tolerance {result.tolerance:.2g}).",
                evidence=(Evidence(f"relative error of {result.what}", rounded_text(result.error), result.device),),
                fixes=avoid_device(result.device, framework),
            )
    yield from flawed_training_problems(framework, Flaw.DISAGREES)


def _compared_results(smoke: Smoke) -> Iterator[_ComparedResult]:
    """Return every result that ran on its device; a loss that is not a number belongs to smoke-loss-not-finite."""
    for kernel in smoke.kernels:
        if is_on_device(kernel.device, (kernel.ran_on,)):
            yield _ComparedResult("matmul", kernel.device, kernel.error, kernel.tolerance)
    for matmul in smoke.products:
        yield _ComparedResult(f"{matmul.precision.upper()} matmul", matmul.device, matmul.error, matmul.tolerance)
    for step in smoke.compiled:
        if isinstance(step.loss_difference, int | float):
            yield _ComparedResult(f"loss of a {step.compiler}-compiled step", step.device, step.loss_difference, step.loss_tolerance)
