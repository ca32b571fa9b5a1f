"""What a run of gpudoctor asks of the kernel, recorded with strace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import GPUDOCTOR

CALLS = "network,execve,execveat,%file,fchmod,ftruncate"
WRITING = re.compile(r"\bO_(?:CREAT|WRONLY|RDWR|TRUNC|APPEND)\b")
ADDRESS = re.compile(r'(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]*)"')
CHANGING = (
    *(
        "mkdir",
        "mkdirat",
        "rmdir",
        "unlink",
        "unlinkat",
        "rename",
        "renameat",
        "renameat2",
        "link",
        "linkat",
        "symlink",
        "symlinkat",
        "mknod",
    ),
    *("mknodat", "chmod", "fchmod", "fchmodat", "chown", "fchownat", "lchown", "truncate", "ftruncate", "utimensat", "mount"),
)


class Trace:
    """The system calls of a program and its children, as strace writes them."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def calls(self, *names: str) -> list[str]:
        """Return the calls of those functions."""
        return [line for line in self.lines if line.partition("(")[0] in names]

    def started(self) -> list[str]:
        """Return the programs that were started."""
        return [found[1] for line in self.calls("execve", "execveat") if (found := re.search(r'"([^"]*)", \[', line))]

    def paths(self) -> set[str]:
        """Return the files that were opened."""
        return {found[1] for line in self.calls("open", "openat", "creat") if (found := re.search(r'"([^"]*)"', line))}

    def changed(self) -> list[str]:
        """Return the calls that create, change or remove a file."""
        opened = [line for line in self.calls("open", "openat", "creat") if WRITING.search(line) and '"/dev/null"' not in line]
        return opened + self.calls(*CHANGING)

    def networks(self) -> list[str]:
        """Return the calls that make or use a socket of a network; one that asks the kernel for this machine's addresses is none."""
        return [line for line in self.lines if re.search(r"\b(?:AF|PF)_INET6?\b", line) and "_NETLINK" not in line]

    def beyond(self) -> list[str]:
        """Return the calls with an address beyond this machine. TensorFlow binds a socket to ::1 to find out whether there is IPv6."""
        return [line for line in self.networks() if any(not one.startswith(("127.", "::1")) for one in ADDRESS.findall(line))]


def tracing(file: Path, calls: str = CALLS) -> tuple[str, ...]:
    """Return the words before a command that have strace write its system calls to a file."""
    return ("strace", "--follow-forks", "--seccomp-bpf", "--quiet=all", "--string-limit=4096", "-o", str(file), "-e", f"trace={calls}")


def trace_in(file: Path) -> Trace:
    """Return the system calls that strace wrote to a file."""
    return Trace([line.partition(" ")[2].lstrip() for line in file.read_text(errors="replace").splitlines()])


def trace(*arguments: str, place: Path, environ: dict[str, str]) -> Trace:
    """Run the command in a folder and return what it and its children asked of the kernel. Skips without strace."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace (Debian: strace)")
    file = place.parent / f"{place.name}.trace"
    command = (*tracing(file), *GPUDOCTOR, *arguments)
    done = subprocess.run(command, cwd=place, env=environ, capture_output=True, timeout=100, check=False)
    if b"ptrace" in done.stderr and not file.stat().st_size:
        pytest.skip(f"needs strace to work here: {os.fsdecode(done.stderr[:200])}")
    return trace_in(file)
