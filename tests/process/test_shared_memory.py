"""Which mapped files count as shared memory that a child left."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gpudoctor.process.shared_memory import mapped_files, remove_files


@contextmanager
def mapping(*files: Path) -> Iterator[None]:
    """Have files mapped in this process."""
    with ExitStack() as stack:
        for path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"\0" * mmap.PAGESIZE)
            file = stack.enter_context(path.open("rb"))
            stack.enter_context(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        yield


def test_only_files_that_begin_with_the_prefix_and_still_exist_count(tmp_path: Path) -> None:
    prefix = str(tmp_path / "ours-")
    ours, gone = Path(f"{prefix}mine"), Path(f"{prefix}gone")
    elsewhere = tmp_path / "copy" / f"{prefix.lstrip('/')}mine"  # its path holds the prefix and does not begin with it
    with mapping(ours, gone, elsewhere):
        gone.unlink()
        assert mapped_files(os.getpgid(0), prefix) == {str(ours)}
        assert mapped_files(os.getpgid(0), "") == set()
        assert mapped_files(os.getpgid(1), prefix) == set()
    remove_files({str(ours), str(gone)})
    assert (ours.exists(), elsewhere.exists()) == (False, True)
