"""The same smoke training with PyTorch and JAX, for real on the CPU; test_wrong_results.py breaks them from outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from tests.environments.releases import newest
from tests.smoke.child import Run, healthy_run
from tests.smoke.test_tensorflow_child import OUTLINE, unmeasured, within

pytestmark = pytest.mark.index
Start = Callable[..., Run]


@pytest.fixture(scope="module", params=["torch", "jax"])
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def start(framework: str, smoke: Start, framework_python: Callable[[str], Path]) -> Start:
    interpreter = framework_python(framework)

    def run(*arguments: str, **options: Any) -> Run:
        return smoke(*arguments, framework=framework, interpreter=interpreter, **options)

    return run


@pytest.fixture(scope="module")
def healthy_and_home(
    framework: str, framework_python: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Run, list[str]]:
    return healthy_run(tmp_path_factory, framework, framework_python(framework))


@pytest.fixture(scope="module")
def healthy(healthy_and_home: tuple[Run, list[str]]) -> Run:
    return healthy_and_home[0]


def test_the_stages_of_the_newest_release_come_in_order(healthy: Run, framework: str) -> None:
    assert (unmeasured(healthy), healthy.status) == (OUTLINE, 0)
    assert Version(healthy.one("end", stage="import")["version"]) >= Version(newest(framework).release)


def test_it_reaches_the_expected_accuracy_and_names_its_device(healthy: Run) -> None:
    training = healthy.one("training", network="dense")
    assert training["losses"][0] == pytest.approx(1.985, rel=1e-3)
    assert training["losses"][-1] < 0.003
    assert training["accuracy"] >= 0.998
    assert len({place for places in training["placement"].values() for place in places}) == 1
    assert training["placement"]["gradients"] == [training["logical"]]


def test_the_convolutional_network_reaches_it_too(healthy: Run) -> None:
    training = healthy.one("training", network="convolutional")
    assert training["losses"] == pytest.approx([2.0881, 1.3147, 0.5584, 0.1904, 0.0799, 0.0358], rel=0.02)
    assert training["accuracy"] >= 0.99
    assert training["placement"]["gradients"] == [training["logical"]]


def test_the_first_kernel_and_the_comparisons_are_right(healthy: Run) -> None:
    kernel = healthy.one("kernel")
    assert 0 < kernel["error"] < kernel["tolerance"]
    assert [within(agreement) for agreement in healthy.all("agreement")] == [True, True]


def test_a_missing_gpu_fails_at_devices(start: Start) -> None:
    run = start("--devices", "0,1", settings={"CUDA_VISIBLE_DEVICES": ""})
    assert run.one("failed", stage="devices")["error"]
    assert run.status == 1


def test_training_opens_no_network_connection(healthy: Run) -> None:
    if healthy.network is None:
        pytest.skip("needs strace (Debian: strace)")
    assert healthy.network == ()


def test_nothing_is_written_to_the_home_folder(healthy_and_home: tuple[Run, list[str]]) -> None:
    assert healthy_and_home[1] == []
