"""A report file appears whole or not at all, and a killed writer leaves nothing beside it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudoctor.cli import new_file, output

OLD, NEW = b"old" * 100_000, b"new" * 100_000
WRITER = f"""
import sys
from gpudoctor.cli import output
pieces = [{NEW[:3]!r}] * 100_000
while True:
    print(end=".", flush=True)
    output.write(pieces, sys.argv[1])
"""
"""Writes without end, in many small pieces."""
KILLS = 12
BESIDE = ".gpudoctor-0123456789abcdef"


def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one_and_nothing_beside_it(tmp_path: Path) -> None:
    file, chance = tmp_path / "report", random.Random(14)
    for _ in range(KILLS):
        file.write_bytes(OLD)
        with subprocess.Popen((sys.executable, "-c", WRITER, str(file)), stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            assert writer.stdout.read(1)
            time.sleep(chance.uniform(0, 0.1))
            writer.send_signal(signal.SIGKILL)
        assert file.read_bytes() in {OLD, NEW}
        assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_new_file_has_no_other_name_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no moment at which a kill would leave two names."""
    monkeypatch.delattr(os, "replace")
    output.write_output(NEW, str(tmp_path / "report"))
    assert (tmp_path / "report").read_bytes() == NEW


def aged(path: Path, seconds: float) -> Path:
    path.write_text("half a rep")
    moment = time.time() - seconds
    os.utime(path, (moment, moment))
    return path


def test_the_next_write_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    """On file systems where a file has a name from the beginning."""
    left = aged(tmp_path / BESIDE, 7200)
    others = [aged(tmp_path / name, 7200) for name in (".gpudoctor-config", "report-1", f"{BESIDE}0")]
    others += [aged(tmp_path / f"{BESIDE[:-1]}0", 60)]  # may still be written
    output.write_output(NEW, str(tmp_path / "report"))
    assert not left.exists()
    assert all(path.exists() for path in others)


def test_a_file_that_cannot_be_named_is_copied(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path / "gone", os.O_RDWR | os.O_CREAT)
    try:
        os.write(descriptor, NEW)
        (tmp_path / "gone").unlink()  # which cannot be linked again
        new_file._name_file(descriptor, str(tmp_path / BESIDE))
    finally:
        os.close(descriptor)
    assert (tmp_path / BESIDE).read_bytes() == NEW


def test_without_nameless_files_the_file_is_as_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    output.require_writable(str(tmp_path / "report"))
    output.write_output(NEW, str(tmp_path / "report"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"report": NEW}
    assert (tmp_path / "report").stat().st_mode & 0o777 == 0o600
