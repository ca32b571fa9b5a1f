from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Agreement, CompiledStep, Kernel, Product
from tests.builders import TIMED_OUT, address, machine, smoke, training
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "smoke-wrong-result"
OFF = Agreement(steps=10, loss_difference=1e-2, weight_difference=1e-8, loss_tolerance=1e-5, weight_tolerance=1e-6)


@pytest.mark.parametrize(
    "figures",
    [
        {"kernels": (Kernel("GPU:0", "/device:GPU:0", 0.02, 1e-5, address=address(0)),)},
        {"products": (Product("GPU:0", "bf16", 8192, 1e12, 0.02, 0.008, address=address(0)),)},
        {"products": (Product("GPU:0", "bf16", 8192, 1e12, "nan", 0.008, address=address(0)),)},
        {"compiled": (CompiledStep("GPU:0", "XLA", 3.0, 0.001, 1e-3, 1e-5, address=address(0)),)},
        {"trainings": (training(0, agreement=OFF),)},
    ],
)
def test_an_error_beyond_rounding_is_found(figures: dict[str, Any]) -> None:
    assert len(findings_of(RULE, machine(1, smoke=(smoke(**figures),)))) == 1


def test_errors_are_rounded() -> None:
    wrong = Kernel("GPU:0", "/device:GPU:0", 0.0205432, 1e-5, address=address(0))
    (finding,) = findings_of(RULE, machine(1, smoke=(smoke(kernels=(wrong,)),)))
    assert finding.message == "tensorflow 2.18.0: matmul on GPU:0 is off by 0.0205 (tolerance 1e-05)."


def test_one_wrong_gpu_of_two_is_left_out() -> None:
    two = smoke(2)
    wrong = msgspec.structs.replace(two.kernels[1], error=0.1)
    (finding,) = findings_of(RULE, machine(2, smoke=(msgspec.structs.replace(two, kernels=(two.kernels[0], wrong)),)))
    assert finding.fixes[1].command == "export CUDA_VISIBLE_DEVICES=0"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, smoke=(smoke(),))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, smoke=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
