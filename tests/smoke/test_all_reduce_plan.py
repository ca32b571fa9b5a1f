"""The parent's side of all-reduce: whether to run it, when to run a control, and what is recorded; the children really sum."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.derive.all_reduce import AllReduceResult, all_reduce_result, result_detail
from gpudoctor.process import Supervisor
from gpudoctor.smoke import TrainingPlan, run, run_trainings
from gpudoctor.snapshot import NOT_ASKED, AllReduce, Cause, Missing, Smoke
from tests.cli.command import GPUDOCTOR, document, environment
from tests.cli.test_smoke import marked
from tests.smoke import told
from tests.smoke.collectives import hangs, only_in_sums, right_without_p2p, wrong
from tests.smoke.patches import BRIEF

NAMES = {0: "0000:10:00.0", 1: "0000:11:00.0"}
RECORDED = """#!{python}
import os, sys
arguments = sys.argv[1:]
if "--all-reduce" in arguments:
    arguments[arguments.index("--devices") + 1] = "cpu"
    os.execv({python!r}, [{python!r}, *arguments])
os.write(int(arguments[arguments.index("--answer-fd") + 1]), {answer!r})
"""
"""An interpreter with recorded training, on GPUs or the CPU, that really runs all-reduce on this machine's CPUs."""
QUICK = {"TORCHDYNAMO_DISABLE": "1"}
"""For tests that do not depend on PyTorch's method: nothing is compiled."""


def answer(*trained: str) -> bytes:
    events: list[dict[str, Any]] = [{"event": "begin", "stage": "import"}, {"event": "end", "stage": "import", "seconds": 1.0}]
    events += map(told.trained, trained)
    return b"".join(json.dumps(event).encode() + b"\n" for event in (*events, {"event": "done"}))


def recorded(place: Path, *trained: str, python: Path = Path(sys.executable)) -> str:
    executable = place / "python"
    executable.write_text(RECORDED.format(python=str(python), answer=answer(*trained)))
    executable.chmod(0o755)
    return str(executable)


@pytest.fixture
def summed(tmp_path: Path, framework_python: Callable[[str], Path]) -> Callable[..., Smoke]:
    """A training with JAX, which is imported soonest, on two GPUs at level full, with `patch` in its all-reduce."""

    def train_and_sum(patch: str = "", trained: tuple[str, ...] = ("GPU:0", "GPU:1"), **variables: str) -> Smoke:
        executable = recorded(tmp_path, *trained, python=framework_python("jax"))
        (tmp_path / "sitecustomize.py").write_text(only_in_sums(patch))
        plan = TrainingPlan(framework="jax", executable=executable, devices=(0, 1), addresses=NAMES, left_alone=(), measure=True)
        return carried_out(plan, {**os.environ, "PYTHONPATH": str(tmp_path), **variables})

    return train_and_sum


def carried_out(plan: TrainingPlan, environment: dict[str, str]) -> Smoke:
    done: list[Smoke] = []
    with Supervisor() as supervisor:
        run_trainings((plan,), supervisor, environment, lambda _event: None, done=done.append)
    return done[0]


def runs(smoke: Smoke) -> tuple[AllReduce, ...]:
    assert isinstance(smoke.all_reduces, tuple), smoke.all_reduces
    return smoke.all_reduces


def outcomes(smoke: Smoke) -> list[tuple[bool, AllReduceResult]]:
    return [(all_reduce.p2p, all_reduce_result(all_reduce)) for all_reduce in runs(smoke)]


@pytest.mark.index
def test_a_right_sum_needs_no_control(summed: Callable[..., Smoke]) -> None:
    (all_reduce,) = runs(summed())
    assert (all_reduce.devices, all_reduce.p2p, all_reduce_result(all_reduce)) == (("GPU:0", "GPU:1"), True, AllReduceResult.RIGHT)
    assert [(each.size, each.repetitions, each.error) for each in all_reduce.sums] == [(4 << 10, 3, 0.0), (4 << 20, 3, 0.0)]
    assert all(isinstance(each.bus_bytes_per_second, float) and each.bus_bytes_per_second > 0 for each in all_reduce.sums)
    assert all_reduce.output == NOT_ASKED


@pytest.mark.index
def test_a_wrong_sum_that_is_right_without_p2p(summed: Callable[..., Smoke]) -> None:
    smoke = summed(right_without_p2p("jax", "wrong"))
    assert outcomes(smoke) == [(True, AllReduceResult.WRONG), (False, AllReduceResult.RIGHT)]
    assert result_detail(runs(smoke)[0]) == "4 KiB on CPU:1: off by 0.015625; 4 MiB on CPU:1: off by 0.015625"


@pytest.mark.index
def test_a_hang_that_disappears_without_p2p(summed: Callable[..., Smoke], monkeypatch: pytest.MonkeyPatch) -> None:
    """The import does not count, which takes longer than an all-reduce may."""
    monkeypatch.setattr(run, "ALL_REDUCE_STALL_SECONDS", 5.0)
    smoke = summed("import time; time.sleep(6)\n" + right_without_p2p("jax", "hangs"))
    assert outcomes(smoke) == [(True, AllReduceResult.HUNG), (False, AllReduceResult.RIGHT)]
    assert "an all-reduce of 4096 bytes over CPU:0, CPU:1" in result_detail(runs(smoke)[0])


@pytest.mark.index
def test_a_failure_with_and_without_p2p(summed: Callable[..., Smoke]) -> None:
    assert outcomes(summed(wrong("jax"))) == [(True, AllReduceResult.WRONG), (False, AllReduceResult.WRONG)]


@pytest.mark.index
def test_there_is_no_control_if_p2p_is_already_off(summed: Callable[..., Smoke]) -> None:
    smoke = summed(wrong("jax"), NCCL_P2P_DISABLE="1")
    assert outcomes(smoke) == [(False, AllReduceResult.WRONG)]


@pytest.mark.index
def test_a_failure_before_the_all_reduce_needs_no_control(summed: Callable[..., Smoke]) -> None:
    (all_reduce,) = runs(summed("raise SystemExit(3)"))
    assert all_reduce_result(all_reduce) is AllReduceResult.UNKNOWN


@pytest.mark.index
def test_gpus_that_did_not_train_are_left_out(summed: Callable[..., Smoke]) -> None:
    smoke = summed(trained=("GPU:1",))
    assert smoke.all_reduces == Missing(Cause.FAILED, "training finished on 1 of 2 GPUs")


def on_cpu(**changes: Any) -> TrainingPlan:
    facts = {"framework": "tensorflow", "executable": sys.executable, "devices": (), "addresses": {}, "left_alone": (), "on_cpu": True}
    return TrainingPlan(**{**facts, **changes})


def test_below_level_full_there_is_no_all_reduce(tmp_path: Path) -> None:
    assert carried_out(on_cpu(executable=recorded(tmp_path, "CPU:0")), dict(os.environ)).all_reduces == NOT_ASKED


@pytest.mark.index
def test_on_the_cpu_there_is_no_control(tmp_path: Path, framework_python: Callable[[str], Path]) -> None:
    (tmp_path / "sitecustomize.py").write_text(only_in_sums(wrong("jax")))
    plan = on_cpu(measure=True, framework="jax", executable=recorded(tmp_path, "CPU:0", python=framework_python("jax")))
    smoke = carried_out(plan, {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert outcomes(smoke) == [(True, AllReduceResult.WRONG)]
    assert runs(smoke)[0].devices == ("CPU:0", "CPU:1")


@pytest.mark.index
@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_the_others_hang_too_and_leave_nothing(
    framework: str, framework_python: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "ALL_REDUCE_STALL_SECONDS", 3.0)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    (tmp_path / "sitecustomize.py").write_text(only_in_sums(hangs(framework)))
    plan = on_cpu(measure=True, framework=framework, executable=recorded(tmp_path, "CPU:0", python=framework_python(framework)))
    smoke = carried_out(plan, {**os.environ, **QUICK, "PYTHONPATH": str(tmp_path)})
    assert outcomes(smoke) == [(True, AllReduceResult.HUNG)]
    assert list(scratch.iterdir()) == []


@pytest.mark.index
def test_compiled_files_are_removed_even_if_the_child_is_killed(
    framework_python: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    (tmp_path / "sitecustomize.py").write_text(BRIEF + KILLED_WHILE_COMPILING.format(log=str(tmp_path / "log")))
    plan = on_cpu(measure=True, framework="torch", executable=str(framework_python("torch")))
    smoke = carried_out(plan, {**os.environ, "PYTHONPATH": str(tmp_path), "HOME": str(tmp_path / "home")})
    assert [(stage.kind, stage.device, stage.state.value) for stage in smoke.stages if stage.state != "done"] == [
        ("compiled step", "CPU:0", "crashed")
    ]
    assert int((tmp_path / "log").read_text()) > 0
    assert list(scratch.iterdir()) == []
    assert not (tmp_path / "home").exists()


@pytest.mark.index
def test_a_stopped_all_reduce_leaves_nothing_and_is_reported(tmp_path: Path, framework_python: Callable[[str], Path]) -> None:
    (tmp_path / "sitecustomize.py").write_text(BRIEF + only_in_sums(hangs("jax")))
    marker, places = f"{os.getpid()}-sums", {"HOME": tmp_path / "home", "TMPDIR": tmp_path / "scratch"}
    for place in places.values():
        place.mkdir()
    env = environment(
        **{name: str(place) for name, place in places.items()}, PYTHONPATH=str(tmp_path), TERM="xterm", GPUDOCTOR_TEST_MARK=marker
    )
    env.pop("COVERAGE_PROCESS_CONFIG", None)
    command = (*GPUDOCTOR, "smoke", "--allow-cpu", "--level", "full", "--python", framework_python("jax"), "--format", "json")
    master, slave = pty.openpty()
    with subprocess.Popen(command, cwd="/", env=env, stdout=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        told = b""
        while b"running all-reduce" not in told:
            told += os.read(master, 1 << 16)
        assert len(marked(marker)) > 1
        process.send_signal(signal.SIGTERM)
        whole = document("report", process.communicate(timeout=30)[0])
    os.close(master)
    assert process.returncode == whole["exit_code"] == 143
    assert marked(marker) == []
    assert [sorted(place.rglob("*")) for place in places.values()] == [[], []]
    (smoke,) = whole["snapshot"]["smoke"]
    assert len(smoke["trainings"]) == 2
    assert [(stage["name"], stage["state"]) for stage in smoke["all_reduces"][0]["stages"]][-1] == ("all-reduce", "stopped")


KILLED_WHILE_COMPILING = """
import sys
if "--measure" in sys.orig_argv:
    import os, signal, tempfile, threading, time, torch
    _compile = torch.compile
    def killed():
        while not (written := sum(len(files) for _, _, files in os.walk(tempfile.gettempdir()))):
            time.sleep(0.05)
        open({log!r}, "w").write(str(written))
        os.kill(os.getpid(), signal.SIGKILL)
    def compile(model):
        threading.Thread(target=killed).start()
        return _compile(model)
    torch.compile = compile
"""
"""Kills the training as soon as its compiler has written a file, and reports how many there were."""
