"""`gpudoctor fleet check --ray` on a real cluster of four nodes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.seams.build import SeamUnavailable
from tests.seams.environments import framework_python
from tests.seams.raylets import NAMES, Raylets, may_start, raylets

ALPHA, BETA, GAMMA, DELTA = NAMES
PATIENCE = 300.0
"""Seconds that anything may take on a busy machine."""
ALL_REDUCE = """
import json, sys
from gpudoctor.on_ray.all_reduce import AllReduces
from gpudoctor.on_ray.cluster import connected_cluster

address, python, *groups = sys.argv[1:]
with connected_cluster(address, {}) as cluster:
    run = AllReduces(cluster, {node.name: node for node in cluster.nodes()}, python, stall=60.0)
    trials = run([tuple(group.split(",")) for group in groups])
print(json.dumps([[trial.trouble, trial.rate] for trial in trials]))
"""


@pytest.mark.timeout(4 * PATIENCE)
def test_a_cluster_of_four_nodes_is_checked_whatever_happens_to_them(tmp_path: Path) -> None:
    """One test, because a cluster takes as long to start as most of its checks; the last steps end some of its nodes."""
    try:
        may_start()
    except SeamUnavailable as reason:
        pytest.skip(str(reason))
    try:
        torch, missing = framework_python("torch"), ""
    except SeamUnavailable as reason:
        torch, missing = None, str(reason)
    with raylets(bare=True) as cluster:
        an_environment_that_cannot_be_made_is_a_result(cluster, tmp_path)
        if torch:
            an_all_reduce_between_nodes_names_the_one_that_hangs(cluster, torch)
        ctrl_c_reports_what_was_found_and_leaves_nothing(cluster)
        a_node_that_dies_is_a_result_and_the_others_train(cluster, tmp_path)
        nodes_that_refuse_or_hang_are_results(cluster)
    if not torch:
        pytest.skip(f"all-reduce was not run: {missing}")


def an_environment_that_cannot_be_made_is_a_result(cluster: Raylets, folder: Path) -> None:
    (folder / "env.yaml").write_text("working_dir: file:///no/such/archive.zip\n")
    code, found, _ = check(cluster, "--level", "look", "--runtime-env", str(folder / "env.yaml"))
    assert code == 3
    assert [node["name"] for node in found["nodes"]] == sorted(NAMES)
    assert all("runtime environment" in node["reason"] for node in found["nodes"])


def an_all_reduce_between_nodes_names_the_one_that_hangs(cluster: Raylets, torch: Path) -> None:
    frozen = set()

    def freeze() -> None:
        for pid in cluster.running(DELTA, "--rank"):
            os.kill(pid, signal.SIGSTOP)
            frozen.add(pid)

    subprocess.run((torch, "-c", "import torch"), check=True, timeout=PATIENCE)  # read from the disk once, not by four at a time
    freezing = when(lambda: cluster.running(DELTA, "--rank"), freeze)
    groups = f"{ALPHA},{BETA}", f"{GAMMA},{DELTA}"
    command = [sys.executable, "-c", ALL_REDUCE, cluster.address, str(torch.parent.parent), *groups]
    done = subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    freezing.join()
    (trouble, rate), (hung, no_rate) = json.loads(done.stdout)
    assert not trouble, trouble
    assert rate > 0
    assert frozen
    assert "did not respond for 60 s" in hung
    assert no_rate == 0
    assert nothing_runs(cluster)


def ctrl_c_reports_what_was_found_and_leaves_nothing(cluster: Raylets) -> None:
    process = start(cluster, "--allow-cpu")
    stopping = when(lambda: cluster.running(ALPHA, "smoke.py"), lambda: process.send_signal(signal.SIGINT))
    output, _ = process.communicate(timeout=PATIENCE)
    stopping.join()
    found = json.loads(output)
    assert process.returncode == 130
    stopped = [node for node in found["nodes"] if "stopped before" in node["reason"]]
    assert ALPHA in {node["name"] for node in stopped}
    end = time.monotonic() + 60
    while not nothing_runs(cluster):
        assert time.monotonic() < end, "a check outlived the command"
        time.sleep(0.2)


def a_node_that_dies_is_a_result_and_the_others_train(cluster: Raylets, folder: Path) -> None:
    reports, page = folder / "reports", folder / "page.html"
    killing = when(lambda: cluster.running(BETA, "smoke.py"), lambda: cluster.kill(BETA))
    code, found, errors = check(cluster, "--allow-cpu", "--reports", str(reports), "--html", str(page))
    killing.join()
    nodes = {node["name"]: node for node in found["nodes"]}
    assert code == 3
    assert {name: node["verdict"] for name, node in nodes.items()} == {ALPHA: "ready", BETA: "no-report", GAMMA: "ready", DELTA: "unknown"}
    assert nodes[BETA]["reason"] == "the node left the cluster"
    assert found["usable"]["names"] == [ALPHA, GAMMA]
    assert "Traceback" not in errors
    missing = next(one for one in found["findings"] if one["name"] == "framework-missing")
    assert missing["nodes"]["names"] == [DELTA]
    examined = {path.stem: json.loads(path.read_bytes())["examined"]["why"] for path in reports.iterdir()}
    assert examined == dict.fromkeys((ALPHA, GAMMA, DELTA), "the environment of Ray tasks")
    assert "2 ready" in page.read_text()


def nodes_that_refuse_or_hang_are_results(cluster: Raylets) -> None:
    cluster.stop(GAMMA)
    code, found, errors = check(cluster, "--level", "look", "--timeout", "40", "--python", "/no/such/python")
    cluster.kill(GAMMA)
    nodes = {node["name"]: node for node in found["nodes"]}
    assert code == 3
    assert {node["verdict"] for node in found["nodes"]} == {"no-report"}
    assert nodes[GAMMA]["reason"] in {"no answer in 40 s", "the node left the cluster"}  # Ray gives up on it as well
    assert "/no/such/python" in nodes[ALPHA]["reason"]
    assert "Traceback" not in errors


def start(cluster: Raylets, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gpudoctor", "fleet", "check", "--ray", cluster.address, "--format", "json", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check(cluster: Raylets, *options: str) -> tuple[int, dict[str, Any], str]:
    process = start(cluster, *options)
    output, errors = process.communicate(timeout=PATIENCE)
    assert output, errors
    return process.returncode, json.loads(output), errors


def when(condition: Callable[[], object], act: Callable[[], None]) -> threading.Thread:
    """Act as soon as the condition holds."""

    def wait() -> None:
        end = time.monotonic() + PATIENCE
        while not condition() and time.monotonic() < end:
            time.sleep(0.1)
        act()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def nothing_runs(cluster: Raylets) -> bool:
    return not any(cluster.running(name, script) for name in NAMES for script in ("start.py", "smoke.py"))
