"""The folder for training's temporary files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gpudoctor.smoke.scratch import scratch

HOLD = "import signal; from gpudoctor.smoke.scratch import scratch\nwith scratch() as place: print(place['TMPDIR'], flush=True); signal.pause()"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def holding() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as output:
        return process, Path(output.readline().strip())


def test_it_is_gone_at_the_end(tmp_path: Path) -> None:
    with scratch() as place:
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
    with scratch():
        assert not left.exists()
        assert used.exists()
        assert (tmp_path / "gpudoctor-mine").exists()
        assert (tmp_path / "gpudoctor-link").is_symlink()
    running.terminate()
    running.wait()


KILLED_AT_EACH_STEP = """
import itertools, os, pathlib, sys
from gpudoctor.smoke.scratch import scratch

def run(last):
    steps = itertools.count()
    with scratch() as place:
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
    with scratch():
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


def test_training_goes_on_where_no_folder_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    with scratch() as place:
        assert place == {}
