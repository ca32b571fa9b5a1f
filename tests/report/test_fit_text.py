"""What the text of `gpudoctor fit` says beside its numbers."""

from __future__ import annotations

import pytest

from gpudoctor.fit.speed import Speed
from gpudoctor.report.fit_text import _transfer


@pytest.mark.parametrize(("seconds", "waits"), [(0.05, False), (0.1, False), (0.11, True), (0.5, True)])
def test_the_gpu_waits_for_input_if_a_copy_takes_longer_than_a_fast_step(seconds: float, waits: bool) -> None:
    (text,) = _transfer(speed(seconds))
    assert text.startswith("copying a batch from the host takes ")
    assert text.endswith("longer than a fast step: the GPU waits for input") is waits


def test_an_unknown_rate_is_not_mentioned() -> None:
    assert _transfer(speed(None)) == []


def speed(transfer: float | None) -> Speed:
    return Speed(
        step_seconds=(0.1, 0.2),
        samples_per_second=(160.0, 320.0),
        bandwidth_share=0.5,
        transfer_seconds=transfer,
        transfer_basis="PCIe 4.0 x16",
        measured=False,
    )
