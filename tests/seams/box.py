"""A container made by hand: its own namespaces for mounts and processes, its own root, in which the real program runs.

    report = Box(files={"dev/nvidiactl": ""}, mounts={"/usr/lib64/libcuda.so.550.163.01": library}).examine(tmp_path)

It needs root and the right to mount, otherwise it raises SeamUnavailable. All mounts disappear with the process.
"""

from __future__ import annotations

import functools
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.seams.build import SeamUnavailable, cache_directory
from tests.seams.trees import Tree

TOP: Final = Path(__file__).resolve().parent.parent.parent
ISOLATED: Final = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private")
USR: Final = Path("/usr")
SYSTEM: Final = ("bin", "sbin", "lib", "lib32", "libx32")
DEVICES: Final = {"null": (1, 3), "zero": (1, 5), "random": (1, 8), "urandom": (1, 9)}
GROUPS: Final = Path("/sys/fs/cgroup/devices")
"""Version 1 of control groups, which can refuse devices without a kernel program."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """What the container has in addition to this machine's programs.

    `host` is the tree with the /proc/driver and /sys to show. `nodes` are created below /dev with these numbers, `files` are written.
    `mounts` are single files by mount point, with `links` to them. `refused` are the device majors that its control group refuses.
    """

    host: Tree
    nodes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    mounts: Mapping[str, Path] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    shared_memory: int = 64
    """MiB."""
    refused: Sequence[int] = ()

    def examine(self, place: Path, target: Path, *arguments: str) -> dict[str, Any]:
        """The report of `gpudoctor check` in the container, for the environment `target`. Raises SeamUnavailable."""
        possible()
        host, root = self.host.build(place / "host"), place / "box"
        script = place / "box.sh"
        script.write_text("\n".join(("set -eu", *self._build(root, host, (place, target)), self._run(root, target, arguments))) + "\n")
        group = self._group() if self.refused else None
        join = f"echo $$ >{group}/cgroup.procs; " if group else ""
        try:
            done = subprocess.run(["sh", "-c", f"{join}exec {' '.join(ISOLATED)} sh {script}"], capture_output=True, check=False)
        finally:
            if group:
                group.rmdir()
        assert done.stdout, done.stderr.decode()
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    def _group(self) -> Path:
        group = GROUPS / f"gpudoctor-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            msg = f"needs root over control groups of version 1: {error}"
            raise SeamUnavailable(msg) from error
        for major in self.refused:
            (group / "devices.deny").write_text(f"c {major}:* rw")
        return group

    def _build(self, root: Path, host: Path, shown: Sequence[Path]) -> list[str]:
        """The commands that create the root."""
        lines = [
            f"mkdir -p {root}",
            f"mount -t tmpfs tmpfs {root}",
            f"mkdir -p {root}/proc {root}/sys {root}/dev {root}/etc {root}/tmp {root}/run",
        ]
        lines += [f"cp -d /{name} {root}/{name}" for name in (*SYSTEM, "lib64") if Path("/", name).is_symlink()]
        for folder in USR.iterdir():  # one by one, because /usr/lib64 is the container's own
            if folder.name != "lib64":
                lines += _bound(folder, root)
        lines.append(f"cp -a /usr/lib64 {root}/usr/lib64")
        for path in dict.fromkeys((Path(sys.base_prefix), Path(sys.prefix), TOP, cache_directory(), *shown)):
            lines += _bound(path, root) if path != USR else []
        lines += [f"cp /etc/{name} {root}/etc/" for name in ("passwd", "group", "os-release", "ld.so.cache") if Path("/etc", name).exists()]
        lines += [
            f"mount -t proc proc {root}/proc",
            f"mount --bind {host}/proc/driver {root}/proc/driver",
            f"mount --bind {host}/sys {root}/sys",
        ]
        lines += [f"mount -t tmpfs -o mode=755 tmpfs {root}/dev", f"mkdir {root}/dev/shm"]
        lines.append(f"mount -t tmpfs -o size={self.shared_memory}m shm {root}/dev/shm")
        lines += [f"mknod -m 666 {root}/dev/{name} c {major} {minor}" for name, (major, minor) in {**DEVICES, **self.nodes}.items()]
        lines += [f"printf %s {shlex.quote(text)} >{root}/{name}" for name, text in self.files.items()]
        for at, source in self.mounts.items():
            lines += [f": >{root}{at}", f"mount --bind {source.resolve()} {root}{at}"]
        lines += [f"ln -s {to} {root}{at}" for at, to in self.links.items()]
        return lines

    def _run(self, root: Path, target: Path, arguments: Sequence[str]) -> str:
        """Becomes process 1 with a runtime's variables: the container's mark is then the real one."""
        check = shlex.join(
            [sys.executable, "-m", "gpudoctor", "check", "--python", str(target), "--format", "json", "--level", "look", *arguments]
        )
        variables = {"PATH": "/usr/sbin:/usr/bin", "HOME": "/tmp", "PYTHONPATH": str(TOP), "container": "podman", **self.environment}
        told = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
        return f"exec env -i {told} chroot {root} /bin/sh -c {shlex.quote(check + '; exit $?')}"


def _bound(path: Path, root: Path) -> list[str]:
    return [f"mkdir -p {root}{path}", f"mount --bind {path} {root}{path}"] if path.is_dir() and not path.is_symlink() else []


@functools.cache
def possible() -> None:
    """Raises SeamUnavailable if namespaces cannot be created."""
    done = subprocess.run([*ISOLATED, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
    if os.geteuid() or done.returncode:
        msg = f"needs root and the right to make namespaces and mount in them: {done.stderr.decode().strip()}"
        raise SeamUnavailable(msg)
