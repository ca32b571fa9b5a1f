from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Flaw, FrameworkView, on_device
from gpudoctor.derive.training import rounded, within
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.diagnose.rules.training.flaws import avoid_device, flawed
from gpudoctor.findings import Domain, Evidence, Level, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Real, Smoke


class _Result(msgspec.Struct, frozen=True):
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
    for result in _results(framework.smoke):
        if not within(result.error, result.tolerance):
            yield Problem(
                message=f"{framework.label}: {result.what} on {result.device} is off by {rounded(result.error)} "
                f"(tolerance {result.tolerance:.2g}).",
                evidence=(Evidence(f"relative error of {result.what}", rounded(result.error), result.device),),
                fixes=avoid_device(result.device, framework),
            )
    yield from flawed(framework, Flaw.DISAGREES)


def _results(smoke: Smoke) -> Iterator[_Result]:
    """Return every result that ran on its device; a loss that is not a number belongs to smoke-loss-not-finite."""
    for kernel in smoke.kernels:
        if on_device(kernel.device, (kernel.ran_on,)):
            yield _Result("matmul", kernel.device, kernel.error, kernel.tolerance)
    for matmul in smoke.products:
        yield _Result(f"{matmul.precision.upper()} matmul", matmul.device, matmul.error, matmul.tolerance)
    for step in smoke.compiled:
        if isinstance(step.loss_difference, int | float):
            yield _Result(f"loss of a {step.compiler}-compiled step", step.device, step.loss_difference, step.loss_tolerance)
