from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import NvLink, Pci
from tests.builders import TIMED_OUT, card
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus
from tests.diagnose.rules.multi_gpu.fabrics import SWITCH

RULE = "nvlink-inactive"
UP, DOWN = ({"nvlinks": tuple(NvLink(link, active=active) for link in range(12)), "mig_enabled": False} for active in (True, False))


def test_links_that_lead_to_a_switch_should_be_up() -> None:
    assert findings_of(RULE, with_gpus(DOWN, DOWN)) == []
    switched = findings_of(RULE, with_gpus(DOWN, DOWN, pci=Pci((card(0), card(1), SWITCH))))
    assert [finding.confidence for finding in switched] == [Confidence.CERTAIN] * 2


def test_only_gpus_of_the_same_model_are_compared() -> None:
    assert findings_of(RULE, with_gpus(UP, {**DOWN, "name": "NVIDIA RTX A6000"})) == []
    (finding,) = findings_of(RULE, with_gpus(UP, DOWN))
    assert "12 of 12 NVLinks are down; a GPU of the same model has 12 up" in finding.message


def test_other_outcomes() -> None:
    unsure = {"nvlinks": (NvLink(0, active=True), NvLink(1, active=TIMED_OUT))}
    assert kinds_of(RULE, with_gpus(unsure)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, with_gpus(UP)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({**DOWN, "mig_enabled": True})) == [OutcomeKind.NOT_APPLICABLE]


def test_a_gpu_without_links_behind_a_switch_is_compared_with_its_siblings() -> None:
    none = {"nvlinks": (), "mig_enabled": False}
    switched = Pci((card(0), card(1), SWITCH))
    (finding,) = findings_of(RULE, with_gpus(UP, none, pci=switched))
    assert finding.message.endswith("NVML lists no NVLink; a GPU of the same model has 12 up.")
    assert findings_of(RULE, with_gpus(none, none, pci=switched)) == []
    assert findings_of(RULE, with_gpus(UP, none)) == []
