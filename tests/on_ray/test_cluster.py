"""`gpudoctor fleet check --ray` on a real cluster of four nodes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.seams.build import SeamUnavailable
from tests.seams.environments import framework_python
from tests.seams.raylets import NAMES, Raylets, raylets

ALPHA, BETA, GAMMA, DELTA = NAMES
ALL_REDUCE = """
import json, sys
from gpudoctor.on_ray.all_reduce import AllReduces
from gpudoctor.on_ray.cluster import connected

address, python, *groups = sys.argv[1:]
with connected(address, {}) as cluster:
    trials = AllReduces(cluster, {node.name: node for node in cluster.nodes()}, python, stall=15.0)([tuple(group.split(",")) for group in groups])
print(json.dumps([[trial.trouble, trial.rate] for trial in trials]))
"""


class Started:
    """The cluster that the tests of a worker share until one of them ends some of its nodes. The last node has no framework."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._one: Raylets | None = None

    def get(self) -> Raylets:
        """The cluster, with all of its nodes."""
        self._one = self._one or self._stack.enter_context(raylets(bare=True))
        return self._one

    def end(self) -> None:
        """End the cluster; the next test gets a new one."""
        self._one = None
        self._stack.close()


@pytest.fixture(scope="module")
def started() -> Iterator[Started]:
    one = Started()
    try:
        yield one
    finally:
        one.end()


@pytest.fixture
def cluster(started: Started) -> Raylets:
    try:
        return started.get()
    except SeamUnavailable as reason:
        pytest.skip(str(reason))


def start(cluster: Raylets, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gpudoctor", "fleet", "check", "--ray", cluster.address, "--format", "json", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check(cluster: Raylets, *options: str) -> tuple[int, dict[str, Any], str]:
    process = start(cluster, *options)
    output, errors = process.communicate(timeout=240)
    return process.returncode, json.loads(output), errors


def when(condition: Callable[[], object], act: Callable[[], None]) -> threading.Thread:
    """Act as soon as the condition holds."""

    def wait() -> None:
        end = time.monotonic() + 120
        while not condition() and time.monotonic() < end:
            time.sleep(0.1)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def nothing_runs(cluster: Raylets) -> bool:
    return not any(cluster.running(name, script) for name in NAMES for script in ("start.py", "smoke.py"))


def test_every_node_answers_and_names_come_from_ray(cluster: Raylets, tmp_path: Path) -> None:
    code, found, _ = check(cluster, "--level", "look", "--reports", str(tmp_path / "reports"), "--html", str(tmp_path / "page.html"))
    assert [node["name"] for node in found["nodes"]] == sorted(NAMES)
    assert code == found["exit_code"] == 1  # no GPU, and nothing allows the CPU
    assert {path.stem for path in (tmp_path / "reports").iterdir()} == set(NAMES)
    missing = next(one for one in found["findings"] if one["name"] == "framework-missing")
    assert missing["nodes"]["names"] == [DELTA]
    assert f"{DELTA}: broken" in (tmp_path / "page.html").read_text() or "4 broken" in (tmp_path / "page.html").read_text()


def test_a_node_that_refuses_the_check_is_a_result(cluster: Raylets) -> None:
    code, found, _ = check(cluster, "--level", "look", "--python", "/no/such/python")
    assert code == 3
    assert {node["verdict"] for node in found["nodes"]} == {"no-report"}
    assert "/no/such/python" in found["nodes"][0]["reason"]


def test_an_environment_that_cannot_be_made_is_a_result(cluster: Raylets, tmp_path: Path) -> None:
    (tmp_path / "env.yaml").write_text("working_dir: file:///no/such/archive.zip\n")
    code, found, _ = check(cluster, "--level", "look", "--timeout", "60", "--runtime-env", str(tmp_path / "env.yaml"))
    assert code == 3
    assert all("runtime environment" in node["reason"] for node in found["nodes"])


def test_an_all_reduce_between_nodes_names_the_one_that_hangs(cluster: Raylets) -> None:
    try:
        python = framework_python("torch")
    except SeamUnavailable as reason:
        pytest.skip(str(reason))

    def trials(*groups: str) -> list[tuple[str, float]]:
        command = [sys.executable, "-c", ALL_REDUCE, cluster.address, str(python.parent.parent), *groups]
        return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=200).stdout)  # type: ignore[no-any-return]

    ((trouble, rate),) = trials(f"{ALPHA},{BETA},{GAMMA}")
    assert trouble == ""
    assert rate > 0

    def freeze() -> None:
        for pid in cluster.running(BETA, "--rank"):
            os.kill(pid, signal.SIGSTOP)

    freezing = when(lambda: cluster.running(BETA, "--rank"), freeze)
    ((trouble, rate),) = trials(f"{ALPHA},{BETA}")
    freezing.join()
    assert "no sign of life for 15 s" in trouble
    assert rate == 0
    assert nothing_runs(cluster)


def test_ctrl_c_reports_what_was_found_and_leaves_nothing(cluster: Raylets) -> None:
    process = start(cluster, "--allow-cpu", "--timeout", "120")
    stopping = when(lambda: cluster.running(ALPHA, "smoke.py"), lambda: process.send_signal(signal.SIGINT))
    output, _ = process.communicate(timeout=120)
    stopping.join()
    found = json.loads(output)
    assert process.returncode == 130
    stopped = [node for node in found["nodes"] if "stopped before" in node["reason"]]
    assert ALPHA in {node["name"] for node in stopped}
    end = time.monotonic() + 20
    while not nothing_runs(cluster):
        assert time.monotonic() < end, "a check outlived the command"
        time.sleep(0.2)


def test_nodes_that_die_or_hang_are_results_and_the_others_train(cluster: Raylets, started: Started) -> None:
    killing = when(lambda: cluster.running(BETA, "smoke.py"), lambda: cluster.kill(BETA))
    freezing = when(lambda: cluster.running(GAMMA, "start.py"), lambda: cluster.stop(GAMMA))
    code, found, errors = check(cluster, "--allow-cpu", "--timeout", "60")
    killing.join()
    freezing.join()
    started.end()
    nodes = {node["name"]: node for node in found["nodes"]}
    assert code == 3
    assert nodes[ALPHA]["verdict"] == "ready"
    assert nodes[BETA]["reason"] == "the node left the cluster"
    assert nodes[GAMMA]["reason"] in {"no answer in 60 s", "the node left the cluster"}  # Ray gives up on it as well
    assert nodes[DELTA]["verdict"] == "unknown"
    assert found["usable"]["names"] == [ALPHA]
    assert "Traceback" not in errors
