"""Branches of the rules about measured speed, and of the smoke rules on what was measured and said, that no recorded machine reaches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Finding, Level, OutcomeKind, Policy, RungState
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import CompiledStep, MemoryRate, Nvml, Product, Smoke, Snapshot, Speed, Stage, StageKind, StageState
from tests.builders import address, machine, smoke, training
from tests.machines.measured import A100, MEMORY


def found(name: str, snapshot: Snapshot, matrix: Matrix) -> list[Finding]:
    return [one for one in diagnose(snapshot, matrix, Policy(level=None)).findings if one.name == name]


def outcomes(name: str, snapshot: Snapshot, matrix: Matrix) -> set[OutcomeKind]:
    return {one.kind for one in diagnose(snapshot, matrix, Policy(level=None)).outcomes if one.name == name}


def products(number: int, share: float, size: int = 8192, **changes: Any) -> tuple[Product, ...]:
    kinds = {
        precision: Product(f"GPU:{number}", precision, size, flops * share, 0.0, 5e-4, address=address(number))
        for precision, flops in A100.items()
    }
    return tuple({**kinds, **changes}.values())


def measured(*shares: float, size: int = 8192, **changes: Any) -> Snapshot:
    made = tuple(product for number, share in enumerate(shares) for product in products(number, share, size))
    return machine(len(shares), smoke=(smoke(len(shares), products=made, **changes),))


def raced(here: float | str, there: float | str) -> Snapshot:
    return machine(1, smoke=(smoke(speeds=(Speed("GPU:0", "convolutional", 1024, here, there, address=address(0)),)),))  # type: ignore[arg-type]


def renamed(snapshot: Snapshot, name: str) -> Snapshot:
    """The same machine with GPUs of another product."""
    replace = msgspec.structs.replace
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    return replace(snapshot, nvml=replace(snapshot.nvml, gpus=tuple(replace(gpu, name=name) for gpu in snapshot.nvml.gpus)))


def test_one_gpu_slower_than_its_siblings_is_found(matrix: Matrix) -> None:
    """0.8 of what others reach is more than half of the published peak."""
    findings = found("gpu-slower-than-expected", measured(1.0, 0.8, 1.0), matrix)
    assert [finding.subject.key for finding in findings] == [address(1)]
    assert "another GPU of its model" in findings[0].message


def test_gpus_that_are_alike_pass(matrix: Matrix) -> None:
    assert outcomes("gpu-slower-than-expected", measured(1.0, 0.95), matrix) == {OutcomeKind.PASSED}


def test_slow_memory_alone_is_found(matrix: Matrix) -> None:
    slow = (MemoryRate("GPU:0", 1 << 30, MEMORY / 3, address=address(0)),)
    findings = found("gpu-slower-than-expected", measured(1.0, memory=slow), matrix)
    assert "memory" in findings[0].message
    assert "TFLOPS" not in findings[0].message


def test_small_products_are_not_judged(matrix: Matrix) -> None:
    assert outcomes("gpu-slower-than-expected", measured(0.1, size=1024), matrix) == {OutcomeKind.NOT_ASKED}


def test_an_unknown_product_is_only_compared_with_its_siblings(matrix: Matrix) -> None:
    alone, two = (renamed(measured(*shares), "NVIDIA Q9000") for shares in ((0.1,), (0.1, 0.1)))
    assert outcomes("gpu-slower-than-expected", alone, matrix) == {OutcomeKind.NOT_ASKED}
    assert outcomes("gpu-slower-than-expected", two, matrix) == {OutcomeKind.PASSED}


@pytest.mark.parametrize(("here", "there", "times"), [(10.0, 10.0, 1), (10.1, 10.0, 0), ("nan", 10.0, 0)])
def test_a_gpu_must_be_faster_than_the_cpu(matrix: Matrix, here: float | str, there: float, times: int) -> None:
    assert len(found("gpu-not-faster-than-cpu", raced(here, there), matrix)) == times


def test_without_a_comparison_nothing_is_said(matrix: Matrix) -> None:
    assert outcomes("gpu-not-faster-than-cpu", machine(1, smoke=(smoke(),)), matrix) == {OutcomeKind.NOT_ASKED}


@pytest.mark.parametrize(
    "figures",
    [
        {"products": (Product("GPU:0", "bf16", 8192, 1e12, 0.02, 0.008, address=address(0)),)},
        {"products": (Product("GPU:0", "bf16", 8192, 1e12, "nan", 0.008, address=address(0)),)},
        {"compiled": (CompiledStep("GPU:0", "XLA", 3.0, 0.001, 1e-3, 1e-5, address=address(0)),)},
    ],
)
def test_a_wrong_measured_product_or_compiled_step_is_a_wrong_result(matrix: Matrix, figures: dict[str, Any]) -> None:
    assert len(found("smoke-wrong-result", machine(1, smoke=(smoke(**figures),)), matrix)) == 1


def trained_state(one: Smoke, matrix: Matrix) -> RungState:
    ladder = diagnose(machine(1, smoke=(one,)), matrix, Policy(level=Level.TRAIN)).ladder
    return ladder[0].steps[-1].state


def test_both_networks_must_have_trained(matrix: Matrix) -> None:
    both = ("dense", "convolutional")
    dense, convolutional = training(0), training(0, network="convolutional")
    crashed = Stage(StageKind.TRAINING, StageState.CRASHED, network="convolutional", device="GPU:0", error="killed by signal 11")
    assert trained_state(smoke(networks=both, trainings=(dense, convolutional)), matrix) is RungState.PROVEN
    assert trained_state(smoke(networks=both, trainings=(dense,), stages=(crashed,)), matrix) is RungState.FAILED
    assert (
        trained_state(smoke(networks=both, trainings=(dense, training(0, network="convolutional", accuracy=0.3))), matrix)
        is RungState.FAILED
    )
    assert trained_state(smoke(trainings=(dense,)), matrix) is RungState.PROVEN


def test_a_crash_names_the_cause_that_its_words_point_to(matrix: Matrix) -> None:
    stage = Stage(
        StageKind.KERNEL, StageState.FAILED, device="GPU:0", error="CUDA error: no kernel image is available for execution on the device"
    )
    finding = found("smoke-crashed", machine(1, smoke=(smoke(stages=(stage,), trainings=()),)), matrix)[0]
    assert "gpu-too-new-for-build or gpu-too-old-for-build" in finding.message
    assert "gpudoctor explain gpu-too-new-for-build" in [fix.command for fix in finding.fixes]


def test_a_blind_framework_names_the_cause_that_its_log_tells(matrix: Matrix) -> None:
    log = "E0000 00:00:1.2 3 cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_STUB_LIBRARY: x"
    blind = smoke(0, output=log)
    finding = found("smoke-ran-on-cpu", machine(1, smoke=(blind,)), matrix)[0]
    assert "libcuda-is-stub" in finding.message
    assert any(evidence.what == "a sign of libcuda-is-stub" for evidence in finding.evidence)


@pytest.mark.parametrize("kind", [StageKind.PRODUCTS, StageKind.COMPILED_STEP])
def test_a_measurement_that_fails_leaves_the_trainings_their_proof(matrix: Matrix, kind: StageKind) -> None:
    one = smoke(stages=(Stage(kind, StageState.FAILED, error="no compiler", device="GPU:0"),))
    diagnosis = diagnose(machine(1, smoke=(one,)), matrix, Policy(level=Level.TRAIN))
    assert [(finding.name, str(finding.severity)) for finding in diagnosis.findings] == [("smoke-crashed", "warning")]
    assert trained_state(one, matrix) is RungState.PROVEN
