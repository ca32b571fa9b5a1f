"""Files are written whole, with their mode, in one step, and never where they should not."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from gpudoctor.cli import new_file, output
from gpudoctor.errors import OutputError


def test_a_file_is_new_private_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "report"
    before = os.umask(0)
    try:
        output.write_output(b"x" * 300_000, str(file))
    finally:
        os.umask(before)
    assert file.read_bytes() == b"x" * 300_000
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_old_file_is_replaced_not_overwritten(tmp_path: Path) -> None:
    file, other = tmp_path / "report", tmp_path / "other"
    file.write_text("old")
    os.link(file, other)
    output.write_output(b"new", str(file))
    assert (file.read_bytes(), other.read_text()) == (b"new", "old")


def test_a_relative_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output.require_writable("report")
    output.write_output(b"new", "report")
    assert (tmp_path / "report").read_bytes() == b"new"


def test_a_link_that_appears_after_the_check_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "report").symlink_to("precious")
    with pytest.raises(OutputError):
        output.write_output(b"new", str(tmp_path / "report"))
    assert (tmp_path / "precious").read_text() == "mine"


def test_nothing_is_left_behind_where_the_last_step_fails(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    with pytest.raises(IsADirectoryError):
        new_file.replace_file(str(tmp_path / "report"), lambda _: None)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_fifo_is_written_to_and_stays(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    output.write_output(b"x" * 200_000, str(fifo))
    reader.join(10)
    assert read == [b"x" * 200_000]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a pipe to another user")
def test_a_pipe_of_another_user_gets_no_report(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    os.chown(fifo, 12345, -1)
    with pytest.raises(OutputError, match="named pipe of another user"):
        output.require_writable(str(fifo))


@pytest.mark.parametrize("umask", [0o777, 0o000, 0o277])
def test_the_umask_changes_no_mode(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        output.write_output(b"new", str(tmp_path / "report"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "report").stat().st_mode) == 0o600


def test_a_folder_that_takes_no_file() -> None:
    """/proc: nobody but root may write there, and root cannot make a file."""

    def both() -> None:
        output.require_writable("/proc/report")
        output.write_output(b"new", "/proc/report")

    with pytest.raises(OutputError, match="/proc"):
        both()


def test_a_slow_non_blocking_reader_gets_everything() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    read: list[bytes] = []

    def slowly() -> None:
        with os.fdopen(reading, "rb") as pipe:
            read.append(pipe.read())

    reader = threading.Thread(target=slowly)
    reader.start()
    output._write_all(writing, b"y" * 1_000_000)
    os.close(writing)
    reader.join(10)
    assert read == [b"y" * 1_000_000]
