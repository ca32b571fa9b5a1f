"""Limits of this process, its cgroup or the machine that keep a program from starting or running, whatever the program is."""

from __future__ import annotations

import errno
import os
from typing import Final

LIMIT_BY_ERRNO: Final = {
    errno.EAGAIN: "ulimit -u, or pids.max of the cgroup",
    errno.EMFILE: "ulimit -n",
    errno.ENFILE: "the sysctl fs.file-max",
    errno.ENOMEM: "ulimit -v, or memory.max of the cgroup",
    errno.E2BIG: "the size of the environment, ulimit -s",
}
"""The errors that name such a limit (fork(2), execve(2), pipe(2), pthread_create(3)), and where it is set."""


def has_limit_message(text: str) -> bool:
    """Return whether a program's output has the message of such an error."""
    return any(message in text for message in map(os.strerror, LIMIT_BY_ERRNO))
