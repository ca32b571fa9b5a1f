from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Held, MemoryRate, Nvml, Product, Snapshot, Span, StageKind
from tests.builders import TIMED_OUT, address, machine, smoke
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.training.samples import SAMPLES, measured, stage, trained, watched
from tests.machines.measured import MEMORY

RULE = "gpu-slower-than-expected"
with (Path(__file__).parent / "matmul_rates.csv").open(newline="") as table:
    RATES = list(csv.DictReader(table))
"""TFLOPS of torch.mm on GPUs of many people, the best of sizes from 1024 to 10240:
https://github.com/zzc0721/torch-performance-test-data/blob/main/database.md"""
HALF_RATE = {"gpu": "NVIDIA GeForce RTX 3080", "fp32": "15.56", "tf32": "12.63", "fp16": "53.41", "bf16": "24.94"}
"""The one among them at half the speed of the two others of its model."""


def renamed(snapshot: Snapshot, name: str) -> Snapshot:
    """The same machine with GPUs of another model."""
    replace = msgspec.structs.replace
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    return replace(snapshot, nvml=replace(snapshot.nvml, gpus=tuple(replace(gpu, name=name) for gpu in snapshot.nvml.gpus)))


def test_one_gpu_slower_than_its_siblings_is_found() -> None:
    """0.8 of what others reach is more than half of the published peak."""
    findings = findings_of(RULE, measured(1.0, 0.8, 1.0))
    assert [finding.subject.key for finding in findings] == [address(1)]
    assert "another GPU of the same model" in findings[0].message


def test_equally_fast_gpus_pass() -> None:
    assert kinds_of(RULE, measured(1.0, 0.95)) == [OutcomeKind.PASSED] * 2


def test_slow_memory_alone_is_found() -> None:
    slow = (MemoryRate("GPU:0", 1 << 30, MEMORY / 3, address=address(0)),)
    (finding,) = findings_of(RULE, measured(1.0, memory=slow))
    assert "memory bandwidth" in finding.message
    assert "TFLOPS" not in finding.message


def test_small_matmuls_are_not_measured() -> None:
    assert kinds_of(RULE, measured(0.1, size=1024)) == [OutcomeKind.NOT_ASKED]


def test_a_model_without_published_figures_is_only_compared_with_its_siblings() -> None:
    alone, two = (renamed(measured(*shares), "NVIDIA Q9000") for shares in ((0.1,), (0.1, 0.1)))
    assert kinds_of(RULE, alone) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, two) == [OutcomeKind.PASSED] * 2


def test_a_lower_clock_than_that_of_the_sibling_explains_it() -> None:
    fast = watched(stage(StageKind.PRODUCTS), number=0)
    slow = watched(stage(StageKind.PRODUCTS, clock_sm=Span(690, 705, 720), held=(Held(0x20, SAMPLES),)), number=1)
    products = tuple(
        Product(f"GPU:{number}", "fp16", 8192, flops, 0.0, 5e-4, address=address(number)) for number, flops in enumerate((250e12, 170e12))
    )
    (finding,) = findings_of(RULE, trained(fast, slow, gpus=2, products=products))
    assert finding.subject.key == address(1)
    assert "705 of 1,395 MHz (another GPU of the same model), limited by heat in 20 of 20 samples" in finding.message
    assert any(row.what == "SM clock" for row in finding.evidence)
    assert finding.because_of == (f"GD907:{address(1)}", f"GD941:{address(1)}")


def test_a_clock_near_its_maximum_explains_nothing() -> None:
    products = (Product("GPU:0", "fp16", 8192, 50e12, 0.0, 5e-4, address=address(0)),)
    (finding,) = findings_of(RULE, trained(watched(stage(StageKind.PRODUCTS)), products=products))
    assert "clock" not in finding.message


def test_it_cannot_tell_without_a_smoke_training() -> None:
    assert kinds_of(RULE, machine(1, smoke=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(("size", "is_found"), [((256 << 20) - 1, False), (256 << 20, True), (1 << 30, True)])
def test_only_arrays_that_keep_the_memory_busy_are_measured(size: int, is_found: bool) -> None:
    slow = (MemoryRate("GPU:0", size, MEMORY / 3, address=address(0)),)
    assert ["memory bandwidth" in finding.message for finding in findings_of(RULE, measured(1.0, memory=slow))] == [True] * is_found


@pytest.mark.parametrize(("size", "is_found"), [(4095, False), (4096, True), (8192, True)])
def test_only_matrices_that_keep_the_gpu_busy_are_measured(size: int, is_found: bool) -> None:
    assert len(findings_of(RULE, measured(0.1, size=size))) == is_found


def test_rates_of_other_gpus_are_not_this_ones() -> None:
    slow = (MemoryRate("GPU:1", 1 << 30, MEMORY / 3, address=address(1)),)
    assert [finding.subject.key for finding in findings_of(RULE, measured(1.0, 1.0, memory=slow))] == [address(1)]


@pytest.mark.parametrize(
    ("own", "sibling", "is_slow"), [(156e12, 156e12, False), (155e12, 155e12, True), (170e12, 200e12, False), (169e12, 200e12, True)]
)
def test_a_rate_at_a_bound_is_not_slow(own: float, sibling: float, is_slow: bool) -> None:
    """Half of the published 312 TFLOPS, and 0.85 of a sibling's."""
    products = tuple(
        Product(f"GPU:{number}", "fp16", 8192, flops, 0.0, 5e-4, address=address(number)) for number, flops in enumerate((own, sibling))
    )
    found = findings_of(RULE, machine(2, smoke=(smoke(2, products=products),)))
    assert (address(0) in {finding.subject.key for finding in found}) is is_slow


@pytest.mark.parametrize("rates", RATES, ids=lambda rates: " ".join(rates.values()))
def test_speeds_that_people_measured_are_not_slow(rates: dict[str, str]) -> None:
    products = tuple(
        Product("GPU:0", precision, 8192, float(tera) * 1e12, 0.0, 5e-4, address=address(0))
        for precision, tera in rates.items()
        if precision != "gpu" and tera
    )
    one = renamed(machine(1, smoke=(smoke(1, products=products),)), rates["gpu"])
    assert kinds_of(RULE, one) == [OutcomeKind.FOUND if rates == HALF_RATE else OutcomeKind.PASSED]


@pytest.mark.parametrize(
    ("changes", "card", "is_slow"),
    [
        ({}, {}, False),
        ({"held": (Held(0x1, SAMPLES),)}, {}, True),
        ({"held": (Held(0x24, SAMPLES),)}, {}, True),
        ({"power": 40_000}, {}, True),
        ({"power_limit": 60_000, "power": 59_000}, {"power_limit": 60_000}, True),
    ],
    ids=["own limit", "idle", "heat too", "draws too little", "lowered limit"],
)
def test_a_gpu_that_its_own_power_limit_holds_is_as_fast_as_it_can_be(
    changes: dict[str, Any], card: dict[str, Any], *, is_slow: bool
) -> None:
    """A T4 reaches 24 of 65 TFLOPS within 70 W: https://forums.developer.nvidia.com/t/about-gpu-peak-performance/264462."""
    sampled = stage(StageKind.PRODUCTS, **{"clock_sm": Span(585, 600, 900), "power": 69_500, "power_limit": 70_000, **changes})
    limits = {"clock_sm_max": 1590, "power_limit": 70_000, "power_limit_default": 70_000, **card}
    products = (Product("GPU:0", "fp16", 8192, 24e12, 0.0, 5e-4, address=address(0)),)
    one = renamed(trained(watched(sampled), products=products, **limits), "Tesla T4")
    assert bool(findings_of(RULE, one)) is is_slow
