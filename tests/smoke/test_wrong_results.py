"""Frameworks that compute wrongly, through the real command: each defect has its own finding, and nothing else is blamed.

TensorFlow with each defect is a recorded machine: tests/machines/recipes builds and examines it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.smoke.patches import NOISE, WRONG_IN_BF16, WRONG_ON_THE_SECOND, WRONG_ROW_AND_NAN
from tests.smoke.provoke import Provoked, provoke

Start = Callable[..., Provoked]
WITH_INDEX = [pytest.param(name, marks=pytest.mark.index) for name in ("torch", "jax")]
QUIET = (
    "import os\nos.environ['KERAS_HOME'] = '/dev/null/keras'  # as the training has it, before whose first line Keras is imported here\n"
)


@pytest.fixture
def start(tmp_path: Path, framework_python: Callable[[str], Path], request: pytest.FixtureRequest) -> Start:
    def run(framework: str, patch: str, *arguments: str) -> Provoked:
        python = request.getfixturevalue("imported_tensorflow") if framework == "tensorflow" else framework_python(framework)
        alone = {"OMP_NUM_THREADS": "1"}  # PyTorch's threads wait for each other where other tests want the same cores
        seen = provoke(tmp_path, QUIET + patch, *arguments, framework=framework, python=python, settings=alone)
        assert seen.left == []
        assert (seen.code, seen.report["verdict"]) == (1, "broken")
        return seen

    return run


def errors(seen: Provoked) -> list[dict[str, Any]]:
    return [one for one in seen.report["findings"] if one["severity"] == "error"]


@pytest.mark.parametrize("framework", WITH_INDEX)
def test_one_matmul_row_is_off_by_a_hundredth_and_the_loss_is_nan(start: Start, framework: str) -> None:
    """Two defects: each has its finding, and the arithmetic's explains the other."""
    seen = start(framework, WRONG_ROW_AND_NAN[framework])
    wrong, odd = errors(seen)
    assert (wrong["code"], wrong["name"], wrong["because_of"]) == ("GD902", "smoke-wrong-result", [])
    assert ": matmul on CPU:0 is off by" in wrong["message"]
    assert seen.smoke["kernels"][0]["error"] > 10 * seen.smoke["kernels"][0]["tolerance"]
    assert (odd["code"], odd["name"], odd["because_of"]) == ("GD911", "smoke-loss-not-finite", [wrong["id"]])
    assert odd["message"].startswith(f"{framework} ")
    assert odd["message"].endswith(" on CPU:0: loss is nan at step 1 of 30; loss is nan at step 1 of 6.")
    assert seen.ended == []


@pytest.mark.parametrize("framework", ["tensorflow", *WITH_INDEX[1:]])
def test_one_of_two_virtual_devices_fails_only_in_training(start: Start, framework: str) -> None:
    """The second trains briefly, and four megabytes of noise on standard output and error are harmless."""
    seen = start(framework, NOISE + WRONG_ON_THE_SECOND[framework])
    assert seen.ended == []
    (finding,) = errors(seen)
    assert (finding["code"], finding["name"]) == ("GD902", "smoke-wrong-result")
    assert " on CPU:1: after 10 steps losses differ by" in finding["message"]
    assert "CPU:0" not in str([finding["message"], finding["evidence"]])
    trainings = seen.smoke["trainings"]
    assert [training["device"] for training in trainings] == ["CPU:0", "CPU:1"] * 2
    assert [within(training["agreement"]) for training in trainings] == [True, False] * 2
    short = trainings[1]
    assert (trainings[0]["steps"], short["steps"]) == (300, 50)
    assert short["accuracy"] >= 0.99
    assert short["losses"][-1] < 0.06
    kernels = seen.smoke["kernels"]
    assert all(kernel["error"] <= kernel["tolerance"] for kernel in kernels)
    assert short["placed_on"] == [kernels[1]["ran_on"]] != [kernels[0]["ran_on"]]


def within(agreement: dict[str, Any]) -> bool:
    return bool(
        agreement["loss_difference"] <= agreement["loss_tolerance"] and agreement["weight_difference"] <= agreement["weight_tolerance"]
    )


def test_only_a_precision_of_level_full_is_wrong(start: Start) -> None:
    seen = start("tensorflow", WRONG_IN_BF16, "--level", "full")
    (finding,) = errors(seen)
    assert (finding["code"], finding["name"]) == ("GD902", "smoke-wrong-result")
    assert ": BF16 matmul on CPU:0 is off by 0.0" in finding["message"]
    assert {product["precision"]: product["error"] for product in seen.smoke["products"]} == pytest.approx(
        {"fp32": 0, "bf16": 0.03},
        abs=5e-3,  # BF16 rounds by up to 0.004
    )
