"""A control group with little memory, in which the kernel really kills."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

GROUPS = Path("/sys/fs/cgroup")
LIMITS = (("memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), ("", "memory.max", "memory.swap.max"))
"""In versions 1 and 2: memory, and if there is swap, memory and swap together or swap alone."""


@contextmanager
def limited_memory(limit: int) -> Iterator[tuple[str, ...]]:
    """The prefix of a command that limits it to this many bytes; skips if no group can be created here."""
    for folder, memory, swap in LIMITS:
        group = GROUPS / folder / f"gpudoctor-test-{os.getpid()}"
        if not (GROUPS / folder / "cgroup.procs").exists():
            continue
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if _written(group / memory, limit):
                _written(group / swap, limit)
                yield ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"')
                return
        finally:
            group.rmdir()
    pytest.skip("needs a control group whose memory may be limited")


def _written(file: Path, number: int) -> bool:
    try:
        file.write_text(str(number))
    except OSError:
        return False
    return True
