"""What rules make of a GPU that NVML watched during its training, where no recorded machine shows it."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, Finding, Level, OutcomeKind, Policy, RungState, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, GpuLoad, Held, Loads, Missing, Nvml, NvmlGpu, Product, Snapshot, Span, StageKind, StageLoad
from tests.builders import SUCCESS, address, machine, smoke

SAMPLES = 20
UNSEEN: dict[str, Any] = {"listed": False, "memory_before": 5, "memory_most": 5, "utilization": 0}


def stage(name: str = "training", **changes: Any) -> StageLoad:
    whole: dict[str, Any] = {
        "clock_sm": Span(1395, 1395, 1410),
        "held": (Held(0x4, SAMPLES),),
        "utilization": 95,
        "link_generation": 4,
        "link_width": 16,
        "temperature": 70,
        "power": 398_000,
        "power_limit": 400_000,
        "replays": 0,
        **changes,
    }
    return StageLoad(stage=StageKind(name), samples=SAMPLES, seconds=2.5, **whole)


def watched(*stages: StageLoad, number: int = 0, **changes: Any) -> GpuLoad:
    whole: dict[str, Any] = {"listed": True, "memory_before": 0, "memory_most": 1 << 30, "utilization": 95, **changes}
    return GpuLoad(framework="tensorflow", address=address(number), stages=stages or (stage(),), **whole)


def trained(*loads: GpuLoad, gpus: int = 1, products: tuple[Product, ...] = (), **card: Any) -> Snapshot:
    known: dict[str, Any] = {
        "name": "NVIDIA A100-SXM4-80GB", "clock_sm_max": 1410, "clocks_event_reasons": 0x1, "link_generation": 1, "link_generation_max": 4,
        "link_width": 16, "link_width_max": 16, "power_limit": 400_000, "power_limit_default": 400_000, "virtualization": "none", **card,
    }  # fmt: skip
    nvml = Nvml(init=SUCCESS, driver_version="550.163.01", gpus=tuple(NvmlGpu(one, address=address(one), **known) for one in range(gpus)))
    return machine(gpus, nvml=nvml, smoke=(smoke(gpus, products=products),), loads=Loads(loads, 9.0, 0.1))


def found(name: str, snapshot: Snapshot, matrix: Matrix) -> list[Finding]:
    return [one for one in diagnose(snapshot, matrix, Policy(level=None)).findings if one.name == name]


def test_the_power_limit_at_full_load_is_normal(matrix: Matrix) -> None:
    diagnosis = diagnose(trained(watched()), matrix, Policy(level=None))
    assert not diagnosis.findings
    kinds = {one.name: one.kind for one in diagnosis.outcomes}
    judged = ("power-throttled", "thermal-throttled", "hw-slowdown", "pcie-link-degraded", "smoke-ran-on-cpu")
    assert {kinds[name] for name in judged} == {OutcomeKind.PASSED}


@pytest.mark.parametrize(("reasons", "name"), [(0x20, "thermal-throttled"), (0x40, "thermal-throttled"), (0x80, "power-throttled")])
def test_one_sample_of_a_slowdown_is_a_fact_with_its_share(matrix: Matrix, reasons: int, name: str) -> None:
    (finding,) = found(name, trained(watched(stage(held=(Held(0x4, 38), Held(0x4 | reasons, 2))))), matrix)
    assert "in 2 of 40 samples" in finding.message
    assert finding.severity is Severity.WARNING


def test_reasons_that_nvml_did_not_give_before_are_known_from_the_training(matrix: Matrix) -> None:
    unknown = Missing(Cause.FAILED, "no answer")
    hot = trained(watched(stage(held=(Held(0x40, 1),))), clocks_event_reasons=unknown)
    assert found("thermal-throttled", hot, matrix)
    outcomes = {
        one.name: one.kind for one in diagnose(trained(watched(), clocks_event_reasons=unknown), matrix, Policy(level=None)).outcomes
    }
    assert outcomes["thermal-throttled"] is OutcomeKind.PASSED


@pytest.mark.parametrize(
    ("stages", "confidence"),
    [
        ((stage("copies", link_generation=2, utilization=0),), Confidence.CERTAIN),
        ((stage("training", link_generation=2),), Confidence.LIKELY),
        ((stage("training", link_generation=2), stage("speed", link_generation=4)), None),
        ((stage("training", link_generation=4), stage("copies", link_generation=2)), Confidence.CERTAIN),
        ((stage("training", link_generation=1, utilization=3),), None),
        ((stage("training", link_width=8),), None),
    ],
)
def test_a_link_is_judged_by_what_it_had_to_carry(matrix: Matrix, stages: tuple[StageLoad, ...], confidence: Confidence | None) -> None:
    assert [one.confidence for one in found("pcie-link-degraded", trained(watched(*stages)), matrix)] == [confidence] * bool(confidence)


def test_a_link_that_is_narrow_at_work_too_is_found(matrix: Matrix) -> None:
    (finding,) = found("pcie-link-degraded", trained(watched(stage(link_width=8)), link_width=4), matrix)
    assert "8 of 16 lanes" in finding.message


def test_transfers_that_were_repeated_at_work_are_counted(matrix: Matrix) -> None:
    (finding,) = found("pcie-link-degraded", trained(watched(stage(replays=3), stage("speed", replays=4))), matrix)
    assert "repeated 7 transfers" in finding.message


def test_of_two_siblings_the_one_with_the_lower_clock_is_explained_by_it(matrix: Matrix) -> None:
    fast = watched(stage("products"), number=0)
    slow = watched(stage("products", clock_sm=Span(690, 705, 720), held=(Held(0x20, SAMPLES),)), number=1)
    products = tuple(
        Product(f"GPU:{number}", "fp16", 8192, flops, 0.0, 5e-4, address=address(number)) for number, flops in enumerate((250e12, 170e12))
    )
    (finding,) = found("gpu-slower-than-expected", trained(fast, slow, gpus=2, products=products), matrix)
    assert finding.subject.key == address(1)
    assert "705 MHz where another GPU of its model had 1,395 (51%), held by heat in 20 of 20 samples" in finding.message
    assert any(seen.what == "SM clock" for seen in finding.evidence)
    assert finding.because_of == (f"GD907:{address(1)}", f"GD941:{address(1)}")


def test_nothing_is_explained_by_a_clock_that_is_as_high_as_can_be(matrix: Matrix) -> None:
    products = (Product("GPU:0", "fp16", 8192, 50e12, 0.0, 5e-4, address=address(0)),)
    (finding,) = found("gpu-slower-than-expected", trained(watched(stage("products")), products=products), matrix)
    assert "clock" not in finding.message


@pytest.mark.parametrize("changes", [{}, *({field: value} for field, value in (("listed", True), ("memory_most", 6), ("utilization", 1)))])
def test_three_things_together_contradict_the_framework(matrix: Matrix, changes: dict[str, Any]) -> None:
    snapshot = trained(watched(**{**UNSEEN, **changes}))
    diagnosis = diagnose(snapshot, matrix, Policy(level=Level.TRAIN))
    contradicted = [one.confidence for one in diagnosis.findings if one.name == "smoke-ran-on-cpu"]
    assert contradicted == [Confidence.LIKELY] * (not changes)
    assert (diagnosis.ladder[0].steps[-1].state is RungState.FAILED) is (not changes)


@pytest.mark.parametrize("field", ["listed", "memory_before", "memory_most", "utilization"])
def test_what_was_not_seen_contradicts_nothing(matrix: Matrix, field: str) -> None:
    hidden = {**UNSEEN, field: Missing(Cause.UNSUPPORTED, "not here")}
    assert not found("smoke-ran-on-cpu", trained(watched(**hidden)), matrix)


def test_short_work_contradicts_nothing(matrix: Matrix) -> None:
    short = StageLoad(stage=StageKind.TRAINING, samples=9, seconds=0.9)
    assert not found("smoke-ran-on-cpu", trained(watched(short, **UNSEEN)), matrix)


def test_a_training_elsewhere_is_none_of_it(matrix: Matrix) -> None:
    """Another framework's load, and a GPU that nobody was watched on."""
    other = GpuLoad(framework="torch", address=address(0), stages=(stage(),), **UNSEEN)
    assert not found("smoke-ran-on-cpu", trained(other), matrix)


def test_of_two_gpus_the_one_that_draws_less_is_behind(matrix: Matrix) -> None:
    (finding,) = found("gpu-behind-its-siblings", trained(watched(), watched(stage(power=140_000), number=1), gpus=2), matrix)
    assert finding.subject.key == address(1)
    assert "drew 140 W, the others 398 W on average" in finding.message


def test_one_of_several_that_draws_far_more_is_found(matrix: Matrix) -> None:
    quiet = [watched(stage(power=200_000), number=number) for number in range(2)]
    (finding,) = found("gpu-behind-its-siblings", trained(*quiet, watched(stage(power=398_000), number=2), gpus=3), matrix)
    assert finding.subject.key == address(2)


@pytest.mark.parametrize(("mhz", "is_found"), [(1200, False), (1100, True)])
def test_a_clock_within_a_few_percent_of_the_others_is_none_behind(matrix: Matrix, mhz: int, is_found: bool) -> None:
    loads = [watched(number=number) for number in range(3)]
    snapshot = trained(*loads, watched(stage(clock_sm=Span(mhz, mhz, mhz)), number=3), gpus=4)
    assert [finding.subject.key for finding in found("gpu-behind-its-siblings", snapshot, matrix)] == [address(3)] * is_found


def test_gpus_without_siblings_under_load_are_not_compared(matrix: Matrix) -> None:
    diagnosis = diagnose(trained(watched(), gpus=2), matrix, Policy(level=None))
    kinds = {one.kind for one in diagnosis.outcomes if one.name == "gpu-behind-its-siblings"}
    assert kinds == {OutcomeKind.NOT_ASKED}
