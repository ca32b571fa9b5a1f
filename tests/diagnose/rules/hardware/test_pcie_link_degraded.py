from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.findings import Confidence, OutcomeKind, Severity
from gpudoctor.snapshot import Pci, StageKind, StageLoad
from tests.builders import ABSENT, TIMED_OUT, address, card, machine
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus
from tests.diagnose.rules.training.samples import stage, trained, watched

RULE = "pcie-link-degraded"
WIDE, NARROW = {"link_width": 16, "link_width_max": 16}, {"link_width": 8, "link_width_max": 8}


@pytest.mark.parametrize(("lanes", "generation", "severity"), [
    (16, 4, None), (8, 4, Severity.NOTE), (16, 3, Severity.NOTE), (8, 3, Severity.WARNING), (4, 4, Severity.WARNING), (1, 1, Severity.WARNING),
])  # fmt: skip
def test_a_slot_that_limits_the_gpu_is_found(lanes: int, generation: int, severity: Severity | None) -> None:
    link = {"link_width": lanes, "link_width_max": lanes, "link_generation": 1, "link_generation_max": generation, "link_generation_own": 4}
    snapshot = with_gpus(link, pci=Pci((card(0, link_width_max=16),)))
    assert [finding.severity for finding in findings_of(RULE, snapshot)] == ([severity] if severity else [])


def test_a_generation_that_no_gpu_has_is_no_crash() -> None:
    snapshot = with_gpus({**WIDE, "link_generation_max": 4, "link_generation_own": 1 << 32})
    assert [finding.severity for finding in findings_of(RULE, snapshot)] == [Severity.WARNING]


def test_gpus_of_another_model_are_not_compared() -> None:
    assert findings_of(RULE, with_gpus(WIDE, {**NARROW, "name": "NVIDIA L4"})) == []
    (finding,) = findings_of(RULE, with_gpus(WIDE, NARROW))
    assert (finding.subject.key, finding.severity) == (address(1), Severity.WARNING)


@pytest.mark.parametrize(
    ("stages", "confidence"),
    [
        ((stage(StageKind.COPIES, link_generation=2, utilization=0),), Confidence.CERTAIN),
        ((stage(StageKind.TRAINING, link_generation=2),), Confidence.LIKELY),
        ((stage(StageKind.TRAINING, link_generation=2), stage(StageKind.SPEED, link_generation=4)), None),
        ((stage(StageKind.TRAINING, link_generation=4), stage(StageKind.COPIES, link_generation=2)), Confidence.CERTAIN),
        ((stage(StageKind.TRAINING, link_generation=1, utilization=3),), None),
        ((stage(StageKind.TRAINING, link_width=8),), None),
        ((stage(StageKind.TRAINING, link_generation=1, utilization=9),), None),
        ((stage(StageKind.TRAINING, link_generation=1, utilization=10),), Confidence.LIKELY),
        ((msgspec.structs.replace(stage(StageKind.COPIES, link_generation=2), samples=2),), None),
        ((msgspec.structs.replace(stage(StageKind.COPIES, link_generation=2), samples=3),), Confidence.CERTAIN),
        ((stage(StageKind.COPIES, link_generation=2), stage(StageKind.COPIES, link_generation=4)), None),
    ],
)
def test_the_speed_of_a_link_is_checked_under_load(stages: tuple[StageLoad, ...], confidence: Confidence | None) -> None:
    assert [finding.confidence for finding in findings_of(RULE, trained(watched(*stages)))] == [confidence] * bool(confidence)


def test_a_link_that_stays_narrow_under_load_is_found() -> None:
    (finding,) = findings_of(RULE, trained(watched(stage(link_width=8)), link_width=4))
    assert "8 of 16 lanes" in finding.message


def test_replays_under_load_are_counted() -> None:
    (finding,) = findings_of(RULE, trained(watched(stage(replays=3), stage(StageKind.SPEED, replays=4))))
    assert "had 7 replays" in finding.message


def test_a_replay_counter_that_rises_is_found() -> None:
    (finding,) = findings_of(RULE, with_gpus({**WIDE, "pcie_replays": 5, "pcie_replays_later": 6}))
    assert "is replaying packets right now" in finding.message


@pytest.mark.parametrize(("speed", "load", "found"), [(1, 9, False), (1, 10, True), (3, 100, True), (4, 100, False)])
def test_a_busy_gpu_without_training_shows_the_speed_of_its_link(speed: int, load: int, found: bool) -> None:
    link = {"link_generation": speed, "link_generation_max": 4, "utilization": load}
    assert bool(findings_of(RULE, with_gpus({**WIDE, **link}))) is found


def test_each_gpu_is_compared_with_the_widest_of_its_model() -> None:
    lanes = ({"link_width": width, "link_width_max": width} for width in (8, 1, 16, 4))
    found = {finding.subject.key: finding.message for finding in findings_of(RULE, with_gpus(*lanes))}
    assert sorted(found) == [address(number) for number in (0, 1, 3)]
    assert "1 lane; another GPU of the same model has 16" in found[address(1)]
    assert "4 lanes; another GPU of the same model has 16" in found[address(3)]


def test_uncorrectable_aer_errors_are_counted() -> None:
    (finding,) = findings_of(RULE, with_gpus(WIDE, pci=Pci((card(0, aer_fatal=1, aer_nonfatal=0),))))
    assert "had 1 uncorrectable error (AER) since boot" in finding.message


@pytest.mark.parametrize("virtual", [{"virtualization": "vgpu"}, {"compute_capability": "8.7"}])
def test_it_does_not_apply_to_virtual_and_integrated_gpus(virtual: dict[str, Any]) -> None:
    assert kinds_of(RULE, with_gpus({**NARROW, "link_width_max": 16, **virtual})) == [OutcomeKind.NOT_APPLICABLE]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus(WIDE)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]


@pytest.mark.parametrize(("width", "is_found"), [(0, False), (1, True), (4, True), (5, False), (8, False), (16, False)])
def test_lspci_alone_shows_a_link_of_a_quarter_of_the_lanes(width: int, is_found: bool) -> None:
    bus = Pci((card(0, link_width=width, link_width_max=16),))
    found = findings_of(RULE, machine(1, origin="text", nvml=ABSENT, libcuda=ABSENT, pci=bus))
    assert [f"runs with {width} of the GPU's 16 lanes" in finding.message for finding in found] == [True] * is_found
    assert [finding.confidence for finding in found] == [Confidence.LIKELY] * is_found


@pytest.mark.parametrize(("lanes", "generation"), [(0, 4), (16, 0), (0, 0)])
def test_a_maximum_of_nothing_is_unknown_not_a_slow_slot(lanes: int, generation: int) -> None:
    link = {"link_width": 16, "link_width_max": lanes, "link_generation_max": generation, "link_generation_own": 4}
    assert findings_of(RULE, with_gpus(link, pci=Pci((card(0, link_width_max=16),)))) == []
