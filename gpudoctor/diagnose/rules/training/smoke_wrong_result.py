"""GD902: smoke-wrong-result."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Flaw, MachineView, on_device
from gpudoctor.derive.training import kernel_right, within
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.training.smoke import _finite, _flawed, _without
from gpudoctor.findings import Evidence, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Real, Smoke


def _measured(smoke: Smoke) -> Iterator[tuple[str, str, Real, float]]:
    """Everything measured that has an error: what, where, the error and what rounding explains of it."""
    for product in smoke.products:
        yield f"a product in {product.precision.upper()}", product.device, product.error, product.tolerance
    for step in smoke.compiled:
        if _finite(step.loss_difference):
            yield f"the loss of a step compiled by {step.compiler}", step.device, step.loss_difference, step.loss_tolerance


@rule(
    "GD902",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    seen_at=Level.TRAIN,
    of_training=True,
    explains=(
        Explains(
            (
                "smoke-did-not-learn",
                "smoke-loss-not-finite",
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
def smoke_wrong_result(smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The arithmetic on the device is wrong.

    ## Why it matters
    A product differed from its float64 reference, or the first steps of a training from the same steps on the CPU, by more than
    rounding explains. Whatever is trained here cannot be trusted.

    ## What to do
    Run the check again on each GPU alone. One bad GPU among good ones is a hardware fault: take it out of service. All bad points
    to the framework or a library: try another release.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    for kernel in smoke.kernels:
        if on_device(kernel.device, (kernel.ran_on,)) and not kernel_right(kernel):
            yield Problem(
                message=f"{smoke.framework}: a product on {kernel.device} is off by {kernel.error}, rounding explains {kernel.tolerance:.2g}.",
                evidence=(Evidence("largest relative error", str(kernel.error), kernel.device),),
                fixes=_without(kernel.device, smoke, machine),
            )
    for what, device, error, tolerance in _measured(smoke):
        if not within(error, tolerance):
            yield Problem(
                message=f"{smoke.framework}: {what} on {device} is off by {error}, rounding explains {tolerance:.2g}.",
                evidence=(Evidence(f"error of {what}", str(error), device),),
                fixes=_without(device, smoke, machine),
            )
    yield from _flawed(smoke, {Flaw.DISAGREES}, machine)
