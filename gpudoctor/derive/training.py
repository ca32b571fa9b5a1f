"""Checks the results of smoke training: device, falling loss, accuracy, agreement with the CPU."""

from __future__ import annotations

import enum

import msgspec

from gpudoctor.snapshot import Agreement, Kernel, Missing, Real, Smoke, Training

LOSS_MUST_FALL_TO = 0.1
"""Share of the first loss. The data is separable: fifty steps reach 0.02 of it, and memorised labels stay above 0.2."""
ACCURACY_MARGIN = 0.02
"""How far accuracy may be below the expected value: fifty steps come within 0.001 on two thousand unseen images."""


class Flaw(str, enum.Enum):
    """What is wrong with a training run, worst first."""

    WRONG_PLACE = "it ran on the wrong device"
    NOT_FINITE = "its loss is not a finite number"
    DISAGREES = "its first steps differ from the CPU's"
    NOT_COMPARED = "its first steps were not compared with the CPU's"
    DID_NOT_LEARN = "its loss did not fall or its accuracy stayed low"
    NO_STEPS = "it made no steps"


class ObservedFlaw(msgspec.Struct, frozen=True):
    """A flaw and the numbers that show it."""

    flaw: Flaw
    detail: str


def is_on_device(device: str, places: tuple[str, ...]) -> bool:
    """Whether every place is `device`; frameworks use long names ("/job:localhost/…/device:GPU:0")."""
    return bool(places) and all(place.upper().endswith(device.upper()) for place in places)


def has_disagreement(agreement: Agreement) -> bool:
    """Whether the differences exceed rounding errors; a number that is not finite always does."""
    pairs = ((agreement.loss_difference, agreement.loss_tolerance), (agreement.weight_difference, agreement.weight_tolerance))
    return any(not isinstance(difference, int | float) or not difference <= tolerance for difference, tolerance in pairs)


def training_flaw(training: Training) -> ObservedFlaw | None:
    """What is wrong with `training`; None: its device trains correctly."""
    if not is_on_device(training.device, training.placed_on):
        return ObservedFlaw(Flaw.WRONG_PLACE, f"asked for {training.device}, ran on {', '.join(training.placed_on) or 'no stated device'}")
    if not training.losses:
        return ObservedFlaw(Flaw.NO_STEPS, "no loss was reported")
    odd = next((step for step, loss in enumerate(training.losses, 1) if not isinstance(loss, int | float)), None)
    if odd is not None:
        return ObservedFlaw(Flaw.NOT_FINITE, f"loss is {training.losses[odd - 1]} at step {odd} of {len(training.losses)}")
    if isinstance(training.agreement, Agreement) and has_disagreement(training.agreement):
        found = training.agreement
        return ObservedFlaw(
            Flaw.DISAGREES,
            f"after {found.steps} steps losses differ by {rounded_text(found.loss_difference)} (tolerance {found.loss_tolerance:.2g}) "
            f"and weights by {rounded_text(found.weight_difference)} (tolerance {found.weight_tolerance:.2g})",
        )
    return _learning_flaw(training) or _comparison_flaw(training)


def is_proven(smoke: Smoke, device: str) -> bool:
    """Whether every planned network trained on `device` without a flaw."""
    sound = {training.network for training in smoke.trainings if training.device == device and training_flaw(training) is None}
    return sound >= {*smoke.networks}


def _comparison_flaw(training: Training) -> ObservedFlaw | None:
    missing = training.agreement
    return ObservedFlaw(Flaw.NOT_COMPARED, missing.reason) if isinstance(missing, Missing) else None


def _learning_flaw(training: Training) -> ObservedFlaw | None:
    first, last, accuracy = training.losses[0], training.losses[-1], training.accuracy
    assert isinstance(first, int | float)  # noqa: S101 -- flaw_of() has seen to it
    fell = isinstance(last, int | float) and last <= first * LOSS_MUST_FALL_TO
    accurate = isinstance(accuracy, int | float) and accuracy >= training.expected_accuracy - ACCURACY_MARGIN
    if fell and accurate:
        return None
    return ObservedFlaw(
        Flaw.DID_NOT_LEARN,
        f"loss went from {first:.3g} to {rounded_text(last)}, accuracy is {rounded_text(accuracy)} (expected {training.expected_accuracy:.2f})",
    )


def is_kernel_right(kernel: Kernel) -> bool:
    """Whether a first matmul ran on its device and is right."""
    return is_on_device(kernel.device, (kernel.ran_on,)) and is_within_tolerance(kernel.error, kernel.tolerance)


def is_within_tolerance(error: Real, tolerance: float) -> bool:
    """Whether rounding explains a measured error; never if it is not finite."""
    return isinstance(error, int | float) and error <= tolerance


def rounded_text(number: object) -> str:
    """A measured number with three significant digits; the text for one that is not finite unchanged."""
    return f"{number:.3g}" if isinstance(number, int | float) else str(number)
