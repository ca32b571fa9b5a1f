"""What the text of `gpudoctor fit` says beside its numbers."""

from __future__ import annotations

import pytest

from gpudoctor.fit.speed import Speed
from gpudoctor.report.fit_text import _seconds_text, _size_text, _transfer_time


@pytest.mark.parametrize(("seconds", "waits"), [(0.05, False), (0.1, False), (0.11, True), (0.5, True)])
def test_the_gpu_waits_for_input_if_a_copy_takes_longer_than_a_fast_step(seconds: float, waits: bool) -> None:
    (text,) = _transfer_time(speed(seconds))
    assert text.startswith("copying a batch from the host takes ")
    assert text.endswith("of a step: the GPU waits for input") is waits


def test_a_copy_from_the_host_is_a_share_of_the_step() -> None:
    assert _transfer_time(speed(0.002)) == ["copying a batch from the host takes 2 ms (PCIe 4.0 x16), 1 to 2% of a step"]
    assert _transfer_time(speed(0.0002)) == ["copying a batch from the host takes 0.2 ms (PCIe 4.0 x16), less than 1% of a step"]


def test_an_unknown_rate_is_not_mentioned() -> None:
    assert _transfer_time(speed(None)) == []


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ((0.0131, 0.0284), "13 to 28 ms"),
        ((0.0996, 0.1004), "100 ms"),
        ((0.00012, 0.00034), "0.12 to 0.34 ms"),
        ((0.5, 0.999), "500 to 999 ms"),
        ((0.5, 1.0), "0.5 to 1 s"),
        ((120.4, 1234.0), "120 to 1,234 s"),
    ],
)
def test_a_range_has_one_unit_and_is_one_number_where_both_ends_read_the_same(pair: tuple[float, float], words: str) -> None:
    assert _seconds_text(pair) == words


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0.00 KiB"),
        (1 << 9, "0.50 KiB"),
        (1 << 14, "0.02 MiB"),
        (1 << 29, "0.50 GiB"),
        ((100 << 30) - (1 << 24), "99.98 GiB"),
        (100 << 30, "100 GiB"),
        (1234 << 30, "1,234 GiB"),
    ],
)
def test_a_size_of_a_hundred_or_more_of_its_unit_is_whole(size: int, words: str) -> None:
    assert _size_text(size) == words


def speed(transfer: float | None) -> Speed:
    return Speed(
        step_seconds=(0.1, 0.2),
        samples_per_second=(160.0, 320.0),
        bandwidth_share=0.5,
        transfer_seconds=transfer,
        transfer_basis="PCIe 4.0 x16",
        input_bytes_per_second=(1e8, 2e8),
        measured=False,
    )
