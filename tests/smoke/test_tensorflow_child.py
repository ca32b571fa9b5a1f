"""TensorFlow's smoke training, for real on the CPU, healthy and broken from outside."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from tests.environments.releases import newest
from tests.seams.build import shared_library
from tests.smoke.child import CHILD, SCRIPT, Run
from tests.smoke.patches import COMPILED_EVERY_SECOND_TIME, NO_KERNEL_ON_THE_FIRST, NOT_A_NUMBER, TWO_CPUS

Smoke = Callable[..., Run]

OUTLINE = [
    "begin import",
    "end import",
    "begin devices",
    "end devices",
    "begin kernel CPU:0",
    "kernel CPU:0",
    "end kernel CPU:0",
    "begin training dense CPU:0",
    "training dense CPU:0",
    "end training dense CPU:0",
    "begin agreement dense CPU:0",
    "agreement dense CPU:0",
    "end agreement dense CPU:0",
    "begin training convolutional CPU:0",
    "training convolutional CPU:0",
    "end training convolutional CPU:0",
    "begin agreement convolutional CPU:0",
    "agreement convolutional CPU:0",
    "end agreement convolutional CPU:0",
    "mapped",
    "done",
]


def real(value: float | str) -> float:
    return float(value)


def within(agreement: dict[str, Any]) -> bool:
    return bool(
        real(agreement["loss_difference"]) <= agreement["loss_tolerance"]
        and real(agreement["weight_difference"]) <= agreement["weight_tolerance"]
    )


def on(number: int) -> str:
    return f"/job:localhost/replica:0/task:0/device:CPU:{number}"


def unmeasured(run: Run) -> list[str]:
    """The outline without what --measure adds between the training and the end."""
    outline = run.outline()
    return [*outline[: len(OUTLINE) - 2], *outline[-2:]]


def test_the_stages_come_in_order(healthy: Run) -> None:
    assert unmeasured(healthy) == OUTLINE
    assert healthy.status == 0
    assert all(event["seconds"] >= 0 for event in healthy.all("end"))
    assert healthy.marks[0] == "importing TensorFlow"
    assert healthy.output == b""


def test_the_import_reports_its_version(healthy: Run) -> None:
    facts = healthy.one("end", stage="import")
    assert Version(facts["version"]) >= Version(newest("tensorflow").release)
    assert facts["keras"][0] in "23"
    assert facts["built_with_cuda"] is facts["build"]["is_cuda_build"]
    assert (facts["set_aside"], facts["legacy_keras"]) == ([], False)


def test_the_devices_are_described(healthy: Run) -> None:
    facts = healthy.one("end", stage="devices")
    assert {"name": "CPU:0", "kind": "cpu", "model": None, "compute_capability": None} in facts["devices"]


def test_the_first_kernel_is_right(healthy: Run) -> None:
    kernel = healthy.one("kernel")
    assert kernel["ran_on"] == on(0)
    assert 0 < kernel["error"] < kernel["tolerance"] < 2e-5


def test_training_reaches_the_expected_accuracy(healthy: Run) -> None:
    training = healthy.one("training", network="dense")
    assert training["losses"][0] == pytest.approx(2.0487, rel=1e-3)
    assert training["losses"][-1] == pytest.approx(0.0013, abs=2e-4)
    assert training["expected_accuracy"] == pytest.approx(0.99999, abs=1e-5)
    assert training["accuracy"] >= 0.998
    assert (training["steps"], len(training["losses"])) == (300, 30)
    assert training["samples_per_second"] == pytest.approx(299 * 128 / training["seconds"])


def test_the_convolutional_network_reaches_it_too(healthy: Run) -> None:
    training = healthy.one("training", network="convolutional")
    assert training["losses"] == pytest.approx([2.1157, 1.3883, 0.6088, 0.2094, 0.0868, 0.0379], rel=0.02)
    assert training["accuracy"] >= 0.99
    assert training["placement"] == {"variables": [on(0)], "gradients": [on(0)], "outputs": [on(0)]}
    assert healthy.one("end", stage="devices")["networks"] == ["dense", "convolutional"]
    assert within(healthy.one("agreement", network="convolutional"))


def test_training_reports_its_device(healthy: Run) -> None:
    training = healthy.one("training", network="dense")
    assert training["placement"] == {"variables": [on(0)], "gradients": [on(0)], "outputs": [on(0)]}
    assert training["logical"] == "/device:CPU:0"


def test_losses_are_reported_during_training(healthy: Run) -> None:
    numbers = healthy.all("number", name="loss", device="CPU:0", network="dense")
    assert [number["step"] for number in numbers] == list(range(10, 301, 10))
    assert {number["steps"] for number in numbers} == {300}
    assert [number["value"] for number in numbers] == healthy.one("training", network="dense")["losses"]


def test_the_cpu_agrees_with_itself(healthy: Run) -> None:
    agreement = healthy.one("agreement", device="CPU:0", network="dense", steps=10)
    assert within(agreement)


def test_two_compilers_agree_within_the_tolerance(smoke: Smoke, imported_tensorflow: Path) -> None:
    """XLA compiles the networks of the second device, which rounds differently from the reference."""
    patch = TWO_CPUS + COMPILED_EVERY_SECOND_TIME
    run = smoke("--devices", "cpu", "--short", "0,1", patch=patch, interpreter=imported_tensorflow)
    for agreement in run.all("agreement", device="CPU:1"):
        assert agreement["weight_difference"] > 0
        assert within(agreement)
    assert len(run.all("agreement", device="CPU:1")) == 2


def test_settings_that_would_change_the_training_are_set_aside(smoke: Smoke, tmp_path: Path) -> None:
    """Keras with another backend, half precision in keras.json, a muted log; nothing is written to the home folder, or measured unasked."""
    keras = tmp_path / "chosen"
    keras.mkdir()
    (keras / "keras.json").write_text('{"floatx": "float16", "backend": "torch"}', encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    settings = {"KERAS_BACKEND": "torch", "KERAS_HOME": str(keras), "TF_CPP_MIN_LOG_LEVEL": "3", "HOME": str(home)}
    run = smoke("--devices", "cpu", settings=settings, closed=True)
    assert run.outline() == OUTLINE
    assert sorted(run.one("end", stage="import")["set_aside"]) == ["KERAS_BACKEND", "KERAS_HOME", "TF_CPP_MIN_LOG_LEVEL"]
    assert run.one("training", network="dense")["accuracy"] >= 0.998
    assert list(home.rglob("*")) == []


def test_training_opens_no_network_connection(healthy: Run) -> None:
    if healthy.network is None:
        pytest.skip("needs strace (Debian: strace)")
    assert healthy.network == ()


def test_no_bytecode_is_written_beside_the_child(healthy: Run) -> None:
    assert healthy.status == 0
    assert not (CHILD / "__pycache__").exists()


@pytest.fixture(scope="module")
def half(smoke: Smoke, imported_tensorflow: Path) -> Run:
    """Two logical CPUs: the first fails in its first kernel, and the loss of the second is not a number."""
    patch = TWO_CPUS + NO_KERNEL_ON_THE_FIRST + NOT_A_NUMBER
    return smoke("--devices", "cpu", "--short", "0,1", patch=patch, interpreter=imported_tensorflow)


def test_a_nan_loss_is_reported_in_strict_json(half: Run) -> None:
    training, agreement = half.one("training", network="dense"), half.one("agreement", network="dense")
    assert set(training["losses"]) == {"nan"}
    assert (agreement["loss_difference"], agreement["weight_difference"]) == ("nan", "nan")
    assert not within(agreement)
    assert math.isnan(real(half.all("number")[-1]["value"]))
    assert training["accuracy"] < 0.3


def test_a_failing_device_only_loses_itself(half: Run) -> None:
    failed = half.one("failed")
    assert (failed["stage"], failed["device"], failed["error_type"]) == ("kernel", "CPU:0", "InternalError")
    assert failed["error"].startswith("the launch of a kernel failed")
    trained = half.all("training")
    assert [(each["device"], each["steps"]) for each in trained] == [("CPU:1", 50), ("CPU:1", 60)]
    assert [each["placement"] for each in trained] == [{"variables": [on(1)], "gradients": [on(1)], "outputs": [on(1)]}] * 2
    assert half.all("done") == []
    assert half.status == 1
    assert "the launch of a kernel failed" in half.errors


def test_without_tensorflow_the_import_fails(smoke: Smoke) -> None:
    run = smoke("--devices", "cpu", python=("-S",))
    assert run.outline() == ["begin import", "failed import", "mapped"]
    failed = run.one("failed")
    assert (failed["error_type"], failed["error"]) == ("ModuleNotFoundError", "No module named 'tensorflow'")
    assert run.status == 1


def test_an_old_tensorflow_is_refused_with_its_version(smoke: Smoke, tmp_path: Path) -> None:
    (tmp_path / "numpy.py").touch()
    (tmp_path / "tensorflow.py").write_text("class test: is_built_with_cuda = staticmethod(lambda: True)\n__version__ = '1.13.2'\n")
    run = smoke("--devices", "cpu", python=("-S",), settings={"PYTHONPATH": str(tmp_path)})
    refused = run.one("unsupported", stage="import")
    assert (refused["version"], refused["built_with_cuda"]) == ("1.13.2", True)
    assert "needs TensorFlow 1.14 or newer; this is 1.13.2" in refused["error"]


def test_an_unlisted_gpu_fails_at_devices_and_cuda_libraries_are_reported(smoke: Smoke) -> None:
    library = shared_library("root.c", "libcudart.so.12")  # any library will do; this one does nothing by itself
    run = smoke("--devices", "0,1", settings={"CUDA_VISIBLE_DEVICES": ""}, patch=f"import ctypes; ctypes.CDLL({str(library)!r})")
    failed = run.one("failed", stage="devices")
    assert failed["error"] == "TensorFlow lists 0 GPUs, so none has the index 0."
    assert [device["name"] for device in failed["devices"]] == ["CPU:0"]
    assert run.status == 1
    assert run.one("mapped")["files"] == [str(library.resolve())]


def test_it_ends_without_a_listener() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, str(SCRIPT), "--framework", "tensorflow", "--answer-fd", str(writer), "--devices", "cpu"]
    ended = subprocess.run(command, cwd="/", pass_fds=(writer,), capture_output=True, timeout=60, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"")
