"""The folder for training's temporary files."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import gpudoctor.smoke.scratch as scratch_module
from gpudoctor.smoke.scratch import scratch_folder

HOLD = "import signal; from gpudoctor.smoke.scratch import scratch_folder\nwith scratch_folder() as place: print(place['TMPDIR'], flush=True); signal.pause()"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def holding() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as output:
        return process, Path(output.readline().strip())


def test_it_is_gone_at_the_end(tmp_path: Path) -> None:
    with scratch_folder() as place:
        Path(place["TMPDIR"], "kernel.cubin").write_text("code")
        assert Path(place["TMPDIR"]).stat().st_mode & 0o777 == 0o700
    assert not list(tmp_path.iterdir())


def test_the_next_run_removes_what_a_killed_one_left_and_nothing_else(tmp_path: Path) -> None:
    killed, left = holding()
    running, used = holding()
    (left / "kernel.cubin").write_text("code")
    (tmp_path / "gpudoctor-mine").mkdir()
    (tmp_path / "gpudoctor-link").symlink_to("/etc")
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    with scratch_folder():
        assert not left.exists()
        assert used.exists()
        assert (tmp_path / "gpudoctor-mine").exists()
        assert (tmp_path / "gpudoctor-link").is_symlink()
    running.terminate()
    running.wait()


KILLED_AT_EACH_STEP = """
import itertools, os, pathlib, sys
from gpudoctor.smoke.scratch import scratch_folder

def run(last):
    steps = itertools.count()
    with scratch_folder() as place:
        for name in ("cache/kernel.cubin", *map(str, range(9))):
            file = pathlib.Path(place["TMPDIR"], name)
            file.parent.mkdir(exist_ok=True)
            file.touch()
        sys.addaudithook(lambda event, _: event in {"os.remove", "os.rmdir"} and next(steps) == last and os._exit(9))

for last in itertools.count():
    if not (child := os.fork()):
        run(last)
        os._exit(0)
    killed = os.waitpid(child, 0)[1]
    with scratch_folder():
        pass
    left = [name for _, folders, files in os.walk(os.environ["TMPDIR"]) for name in (*folders, *files) if not name.startswith("gpudoctor-")]
    assert left == [], (last, left)
    if not killed:
        sys.exit(print(last))
"""


def test_the_next_run_goes_on_where_one_was_killed_as_it_cleaned_up() -> None:
    """At worst an empty folder stays: nothing tells it from another program's."""
    done = subprocess.run([sys.executable, "-c", KILLED_AT_EACH_STEP], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 5


def interrupted_at(step: int) -> bool:
    """Use a folder, and be interrupted once, where scratch.py starts its line number `step`; return whether it has that many."""
    steps = itertools.count()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != scratch_module.__file__:
            return None
        if event == "line" and next(steps) == step:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with scratch_folder() as place:
            Path(place["TMPDIR"], "kernel.cubin").touch()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_nothing_is_left_wherever_a_signal_interrupts_it(tmp_path: Path) -> None:
    for step in itertools.count():
        interrupted = interrupted_at(step)
        if list(tmp_path.iterdir()):
            gc.collect()  # a context manager whose __exit__ was interrupted ends with it
        assert not list(tmp_path.iterdir()), f"left by an interruption at step {step}"
        if not interrupted:
            assert step > 40
            return


def test_a_folder_that_cannot_be_used_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMP", os.environ["TMPDIR"])
    monkeypatch.setenv("TMPDIR", "/proc")
    with scratch_folder() as place:
        assert Path(place["TMPDIR"]).is_relative_to(tmp_path)


def test_training_goes_on_where_no_folder_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_module, "_temporary_folders", lambda: ["/proc"])
    with scratch_folder() as place:
        assert place == {}
