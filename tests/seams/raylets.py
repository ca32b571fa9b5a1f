"""A real Ray cluster of several nodes on this machine, each with its own raylet; none outlives the test.

    python -m tests.seams.raylets FOLDER [--bare]

Started as a program it holds the cluster until its standard input is closed. With --bare the last node has an environment without a framework.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gpudoctor.snapshot import printable_text
from tests.seams.build import SeamUnavailable

NAMES = ("alpha", "beta", "gamma", "delta")
STORE = 80 << 20
"""Bytes of a node's object store; all of them share the machine's memory."""
FRAMEWORKS = ("tensorflow", "keras", "torch", "jax")
NO_SPARE_WORKERS = {"RAY_enable_worker_prestart": "0", "RAY_prestart_worker_first_driver": "0"}
"""Each node would start a worker for each command, and none takes it: gpudoctor's tasks have an environment of their own."""
ENDS = 60.0
"""Seconds that the cluster has to end by itself."""


class Raylets:
    """The cluster: its address, and the processes of each node."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.address: str = told["address"]
        self.pids: dict[str, int] = told["pids"]

    def children(self, name: str) -> list[int]:
        """The processes that a node's raylet started, and those that these started."""
        found, parents = [self.pids[name]], _parents()
        for pid in found:
            found += [child for child, parent in parents.items() if parent == pid]
        return found[1:]

    def running(self, name: str, script: str) -> list[int]:
        """The processes of a node that run `script`."""
        return [pid for pid in self.children(name) if script in _command(pid)]

    def stop(self, name: str) -> None:
        """Freeze a node."""
        for pid in [self.pids[name], *self.children(name)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def kill(self, name: str) -> None:
        """End a node without a word. Frozen processes of it go on, since only then do they end with it."""
        children = self.children(name)
        os.kill(self.pids[name], signal.SIGKILL)
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def may_start() -> None:
    """Raises SeamUnavailable outside CI, unless a cluster may be started."""
    if not any(os.environ.get(name, "").lower() not in {"", "0", "false"} for name in ("CI", "GPUDOCTOR_TEST_RAY")):
        msg = "needs half a minute: set GPUDOCTOR_TEST_RAY=1 to start a Ray cluster"
        raise SeamUnavailable(msg)


@contextmanager
def raylets(*, bare: bool = False) -> Iterator[Raylets]:
    """Start the cluster. Raises SeamUnavailable outside CI."""
    may_start()
    folder = tempfile.mkdtemp(prefix="gd-ray-", dir="/tmp")  # the path of a socket has at most 107 bytes
    command = [sys.executable, "-m", "tests.seams.raylets", folder, *(["--bare"] if bare else [])]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "COV"))}
    environment |= {"RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"} | NO_SPARE_WORKERS
    with (Path(folder) / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment, start_new_session=True
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (Path(folder) / "log").read_text(errors="backslashreplace")[-4000:]
        yield Raylets(json.loads(line))
    finally:
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDS)
        _end_all(folder)
        process.stdout.close()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _end_all(folder: str) -> None:
    """Kill whatever still names the folder of the cluster on its command line."""
    for _ in range(20):
        left = [pid for pid in _parents() if folder in _command(pid) and pid != os.getpid()]
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def _parents() -> dict[int, int]:
    found = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError, IndexError):
                found[int(entry.name)] = int(Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()[1])
    return found


def _command(pid: int) -> str:
    try:
        return printable_text(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "surrogateescape"))
    except OSError:
        return ""


def bare_python(folder: Path) -> Path:
    """An environment with everything that this one has, but for the frameworks."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith((*FRAMEWORKS, "_virtualenv", "distutils-precedence")):
            (site / entry.name).symlink_to(entry)
    return folder / "bin" / "python"


def main(folder: str, *, bare: bool) -> None:
    """Start the nodes, say where they are, and hold them until standard input ends."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 -- for the program alone

    Path("/tmp/ray").mkdir(exist_ok=True)  # Ray notes the cluster's address there, whatever its folder is
    cluster = Cluster(
        initialize_head=True,
        shutdown_at_exit=True,
        head_node_args={
            "num_cpus": 1,
            "object_store_memory": STORE,
            "include_dashboard": False,
            "include_log_monitor": False,
            "no_monitor": True,  # it would add nodes
            "node_name": NAMES[0],
            "temp_dir": folder,
        },
    )
    nodes: list[Any] = [cluster.head_node]
    for name in NAMES[1:]:
        if bare and name == NAMES[-1]:
            sys.executable = str(bare_python(Path(folder) / "bare"))  # what Ray starts workers with
        nodes.append(cluster.add_node(wait=False, num_cpus=1, object_store_memory=STORE, node_name=name))
    cluster.wait_for_nodes()
    pids = {name: node.all_processes["raylet"][0].process.pid for name, node in zip(NAMES, nodes, strict=True)}
    print(json.dumps({"address": cluster.address, "pids": pids}), flush=True)
    sys.stdin.read()
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(sys.argv[1], bare="--bare" in sys.argv)
