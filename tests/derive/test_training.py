from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.derive.training import Flaw, has_disagreement, is_kernel_right, is_on_device, training_flaw
from gpudoctor.snapshot import Agreement, Cause, Kernel, Missing
from tests.builders import training

AGREED = Agreement(steps=10, loss_difference=1e-6, weight_difference=1e-7, loss_tolerance=1e-5, weight_tolerance=1e-6)


@pytest.mark.parametrize(
    ("changes", "flaw"),
    [
        ({}, None),
        ({"placed_on": ("/device:GPU:0", "/device:CPU:0")}, Flaw.WRONG_PLACE),
        ({"placed_on": ()}, Flaw.WRONG_PLACE),
        ({"placed_on": ("/device:GPU:10",)}, Flaw.WRONG_PLACE),
        ({"losses": ()}, Flaw.NO_STEPS),
        ({"losses": (2.3, "nan", 0.1)}, Flaw.NOT_FINITE),
        ({"losses": (2.3, "inf")}, Flaw.NOT_FINITE),
        ({"losses": (2.3, 0.24)}, Flaw.DID_NOT_LEARN),
        ({"accuracy": 0.97}, Flaw.DID_NOT_LEARN),
        ({"accuracy": "nan"}, Flaw.DID_NOT_LEARN),
        ({"agreement": msgspec.structs.replace(AGREED, loss_difference=2e-5)}, Flaw.DISAGREES),
        ({"agreement": msgspec.structs.replace(AGREED, weight_difference="nan")}, Flaw.DISAGREES),
        ({"agreement": Missing(Cause.FAILED, "out of memory")}, Flaw.NOT_COMPARED),
    ],
)
def test_training_results(changes: dict[str, Any], flaw: Flaw | None) -> None:
    seen = training_flaw(training(**changes))
    assert (seen.flaw if seen else None) is flaw
    assert seen is None or seen.detail


@pytest.mark.parametrize(("difference", "wrong"), [(1e-5, False), (1.01e-5, True), ("inf", True)])
def test_a_tolerance_includes_its_limit(difference: float | str, wrong: bool) -> None:
    assert has_disagreement(msgspec.structs.replace(AGREED, loss_difference=difference)) is wrong


@pytest.mark.parametrize(
    ("kernel", "right"),
    [
        (Kernel("GPU:0", "/device:GPU:0", 1e-5, 1e-5), True),
        (Kernel("GPU:0", "/device:CPU:0", 1e-6, 1e-5), False),
        (Kernel("GPU:0", "/device:GPU:0", 2e-5, 1e-5), False),
        (Kernel("GPU:0", "/device:GPU:0", "nan", 1e-5), False),
    ],
)
def test_first_matmul_results(kernel: Kernel, right: bool) -> None:
    assert is_kernel_right(kernel) is right


def test_devices_are_compared_by_the_end_of_their_name() -> None:
    assert is_on_device("GPU:1", ("/job:localhost/replica:0/task:0/device:GPU:1", "gpu:1"))
    assert not is_on_device("GPU:1", ("/device:GPU:11",))
