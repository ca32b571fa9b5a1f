"""GD841 nvlink-slow."""

from __future__ import annotations

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Missing, NvLink, Nvml, Snapshot
from tests.builders import ABSENT, machine


def linked(*speeds: tuple[int | Missing, ...]) -> Snapshot:
    """A machine with a GPU for each of these, whose links run at these speeds; 0 is a link that is down."""
    whole = machine(len(speeds))
    assert isinstance(whole.nvml, Nvml)
    assert isinstance(whole.nvml.gpus, tuple)
    gpus = tuple(
        msgspec.structs.replace(
            gpu, nvlinks=tuple(NvLink(number, active=speed != 0, speed=speed or ABSENT) for number, speed in enumerate(own))
        )
        for gpu, own in zip(whole.nvml.gpus, speeds, strict=True)
    )
    return msgspec.structs.replace(whole, nvml=msgspec.structs.replace(whole.nvml, gpus=gpus))


def messages(snapshot: Snapshot, matrix: Matrix) -> list[str]:
    """What the rule says of this machine."""
    return [finding.message for finding in diagnose(snapshot, matrix, Policy()).findings if finding.name == "nvlink-slow"]


def test_one_link_is_slow(matrix: Matrix) -> None:
    (found,) = messages(linked((26_562, 13_281, 26_562)), matrix)
    assert "1 of 3 NVLinks runs at 13.3 GB/s instead of 26.6 GB/s" in found


def test_all_links_of_one_gpu_are_slow(matrix: Matrix) -> None:
    (found,) = messages(linked((26_562, 26_562), (13_281, 13_281)), matrix)
    assert found.startswith("GPU 1")
    assert "2 of 2 NVLinks run" in found


def test_links_that_are_down_or_do_not_tell_are_not_compared(matrix: Matrix) -> None:
    assert messages(linked((26_562, 0, ABSENT, 26_561)), matrix) == []


def test_a_machine_in_order_has_no_such_finding(matrix: Matrix) -> None:
    assert messages(machine(), matrix) == []


def test_a_link_within_two_percent_of_the_others_is_not_slow(matrix: Matrix) -> None:
    assert messages(linked((25_000, 24_500)), matrix) == []
    assert len(messages(linked((25_000, 24_499)), matrix)) == 1
