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


def test_training_goes_on_where_no_folder_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    with scratch() as place:
        assert place == {}
