"""The limits of the examined process: locked memory, open files, address space, shared memory."""

from __future__ import annotations

import os

from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Limits, Missing, SharedMemory
from gpudoctor.snapshot.surroundings import Limit

LIMITS_FILE = "/proc/self/limits"
SHARED_MEMORY_FOLDER = "/dev/shm"  # noqa: S108 -- looked at, not written to


def limits(root: str) -> Limits:
    """The section, each field on its own."""
    text = files.read_text(LIMITS_FILE, root, 8192)
    return Limits(
        memlock=_limit_of_text(text, "Max locked memory"),
        open_files=_limit_of_text(text, "Max open files"),
        shared_memory=_shared_memory(root),
        address_space=_limit_of_text(text, "Max address space"),
        address_space_hard=_limit_of_text(text, "Max address space", hard=True),
    )


def _limit_of_text(text: str | Missing, name: str, *, hard: bool = False) -> Limit | Missing:
    """The first figure after the name, the soft limit, or the second, the hard one (proc_pid_limits(5))."""
    if isinstance(text, Missing):
        return text
    words = next((line[len(name) :].split() for line in text.splitlines() if line.startswith(name)), [])
    words = words[int(hard) :]
    if words[:1] == ["unlimited"]:
        return "unlimited"
    return files.parse_number(words[0], LIMITS_FILE) if words else Missing(Cause.ABSENT, f"{LIMITS_FILE} has no line {name}")


def _shared_memory(root: str) -> SharedMemory | Missing:
    try:
        status = os.statvfs(files.path_in_tree(root, SHARED_MEMORY_FOLDER))
    except OSError as error:
        return files.missing_file(SHARED_MEMORY_FOLDER, error)
    kind: str | Missing = Missing(Cause.ABSENT, f"{SHARED_MEMORY_FOLDER} is not a separate mount")
    for line in files.lines_or_empty("/proc/self/mountinfo", root, 4 << 20):
        fields = line.split(" ")
        if len(fields) > 5 and fields[4] == SHARED_MEMORY_FOLDER and "-" in fields[5:-1]:
            kind = fields[fields.index("-", 5) + 1]
    return SharedMemory(status.f_blocks * status.f_frsize, status.f_bavail * status.f_frsize, kind)
