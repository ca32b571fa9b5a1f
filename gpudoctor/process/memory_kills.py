"""How often the kernel's out-of-memory killer struck, by the kernel's own counters.

They rise before the victim gets its SIGKILL (mm/oom_kill.c), so whoever sees its end sees them raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_CGROUP_FOLDER = "/sys/fs/cgroup"
_MACHINE_FILE = "/proc/vmstat"
_COUNTER_LINE = r"(?m)^oom_kill (\d+)$"


class KillCount(msgspec.Struct, frozen=True):
    """A counter's value, or by how much it rose."""

    count: int
    where: str
    """The file with the counter; for our own control group without its path, which names users, jobs and containers."""

    @property
    def of_machine(self) -> bool:
        """Whether unrelated processes count too."""
        return self.where == _MACHINE_FILE


def memory_kills() -> KillCount | None:
    """Of this process's control group, otherwise of the whole machine; None if the kernel counts neither."""
    for folder, file in (*_counters_of_group(), ("", _MACHINE_FILE)):
        if found := re.search(_COUNTER_LINE, _text_or_empty(folder + file)):
            return KillCount(int(found[1]), f"{file.lstrip('/')} of this control group" if folder else file)
    return None


def kills_since(before: KillCount | None, now: KillCount | None) -> KillCount | None:
    """By how much the counter rose; None if unknown."""
    if before is None or now is None or before.where != now.where:
        return None
    return KillCount(now.count - before.count, now.where)


def _counters_of_group() -> Iterator[tuple[str, str]]:
    """The folders of this process's memory control groups, version 1 or 2, and the file in each that counts.

    A container may see its own group mounted at the host's root.
    https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
    """
    for line in _text_or_empty("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield from ((f"{_CGROUP_FOLDER}/memory{folder}", "/memory.oom_control") for folder in (path, ""))
        elif not controllers:
            yield from ((f"{_CGROUP_FOLDER}{folder}", "/memory.events") for folder in (path, ""))


def _text_or_empty(file: str) -> str:
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            return opened.read(1 << 16)
    except OSError:
        return ""
