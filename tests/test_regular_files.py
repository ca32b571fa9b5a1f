"""Files of others: bounded, never blocking."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from gpudoctor.regular_files import file_beginning, file_ending, pipe_beginning


def test_the_beginning_and_the_end(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"0123456789")
    assert [file_beginning(str(file), size) for size in (0, 4, 10, 11)] == [b"", b"0123", b"0123456789", b"0123456789"]
    assert [file_ending(str(file), size) for size in (0, 4, 10, 11)] == [b"", b"6789", b"0123456789", b"0123456789"]


def test_a_file_that_grows_while_it_is_read_has_an_end(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * (3 << 20))
    assert len(file_beginning(str(file), 2 << 20)) == 2 << 20


@pytest.mark.parametrize("read", [file_beginning, file_ending])
def test_what_is_no_regular_file_is_refused_at_once(read: type, tmp_path: Path) -> None:
    fifo, folder, listening = tmp_path / "fifo", tmp_path / "folder", tmp_path / "socket"
    os.mkfifo(fifo)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(listening))
        for path in (fifo, folder, listening, "/dev/zero", "/dev/tty", tmp_path / "absent"):
            with pytest.raises(OSError, match=r"."):
                read(str(path), 10)


def test_files_of_the_kernel_count_as_regular() -> None:
    assert b"Pid:" in file_beginning("/proc/self/status", 4096)


def test_a_pipe_that_this_process_writes_to_is_refused_at_once_and_another_is_read(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    kept = os.dup(1)
    try:
        own = os.open(fifo, os.O_RDWR)
        os.dup2(own, 1)
        os.close(own)
        with pytest.raises(OSError, match="gpudoctor itself would write to"):
            pipe_beginning(str(fifo), 1, 60)
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    reading, writing = os.pipe()
    os.write(writing, b"said")
    os.close(writing)
    assert pipe_beginning(f"/dev/fd/{reading}", 9, 60) == b"said"
    os.close(reading)
