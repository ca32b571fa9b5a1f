"""The prolog and the health check, run by Slurm's own daemons: munged, slurmctld and slurmd, one node with one GPU."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scripts.preflight import BROKEN, MEMORY, READY, RECIPES, UNKNOWN, Machine, run

FLEET_PAGE = RECIPES.parents[1] / "docs" / "fleet.md"
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
GresTypes=gpu
Prolog={folder}/gpudoctor/prolog
HealthCheckProgram={folder}/gpudoctor/health_check
HealthCheckInterval={interval}
NodeName=node-7 NodeAddr=127.0.0.1 NodeHostname={host} CPUs=1 RealMemory=100 Gres=gpu:1
PartitionName=all Nodes=node-7 Default=YES State=UP
"""


def free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def until(condition: object, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.1)


class Cluster:
    """One controller and one node, node-7, with the recipes beside their settings."""

    def __init__(self, folder: Path, interval: int) -> None:
        self.folder = folder
        self.env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        user = subprocess.check_output(["id", "-un"], text=True).strip()
        text = CONFIGURATION.format(host=socket.gethostname(), user=user, folder=folder, ports=free_ports(2), interval=interval)
        (folder / "slurm.conf").write_text(text)
        (folder / "gres.conf").write_text("NodeName=node-7 Name=gpu File=/dev/zero\n")
        for name in ("state", "spool"):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(64))
        (folder / "munge.key").chmod(0o600)
        shutil.copytree(RECIPES / "slurm", folder / "gpudoctor")
        self.daemons: list[subprocess.Popen[bytes]] = []

    def settings(self, program: Path | str, **more: str) -> None:
        values = {
            "gpudoctor": str(program),
            "state": str(self.folder / "remembered"),
            "config": "/no/such/file",
            "resume_after": "2",
            **more,
        }
        lines = [f"{name}={value}\n" for name, value in values.items()]
        (self.folder / "gpudoctor" / "settings").write_text(f"export SLURM_CONF={self.env['SLURM_CONF']}\n" + "".join(lines))

    def start(self) -> None:
        places = [
            f"--{name}={self.folder}/munge.{name.split('-')[0]}" for name in ("socket", "key-file", "pid-file", "log-file", "seed-file")
        ]
        for command in (["munged", "--foreground", "--force", *places], ["slurmctld", "-D"], ["slurmd", "-D", "-N", "node-7"]):
            with (self.folder / f"{command[0]}.log").open("wb") as log:
                self.daemons.append(subprocess.Popen(command, env=self.env, stdout=log, stderr=log))
            if command[0] == "munged":
                until((self.folder / "munge.socket").exists)
        until(lambda: self.state == "IDLE")

    def stop(self) -> None:
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(20)

    def scontrol(self, *arguments: str) -> str:
        return run("scontrol", *arguments, env=self.env).stdout

    @property
    def node(self) -> tuple[str, str]:
        """The node's state and the reason for it. A node that was just resumed does not respond until the next ping."""
        shown = self.scontrol("show", "node", "node-7", "--oneliner")
        state, reason = re.search(r" State=(\S+)", shown), re.search(r" Reason=(.*) \[", shown)
        return state.group(1).removesuffix("+NOT_RESPONDING") if state else "", reason.group(1) if reason else ""

    @property
    def state(self) -> str:
        return self.node[0]

    def drain(self, reason: str) -> None:
        self.scontrol("update", "NodeName=node-7", "State=DRAIN", f"Reason={reason}")

    def check(self) -> tuple[int, str]:
        """Runs the health check once, with the environment that slurmd gives it: exit code and output."""
        done = run(self.folder / "gpudoctor" / "health_check", env={"SLURMD_NODENAME": "node-7"})
        return done.returncode, done.stdout + done.stderr

    def job(self, *options: str) -> int:
        return run("srun", "--immediate=10", "--time=1", *options, "true", env=self.env).returncode


def start(tmp_path: Path, interval: int) -> Iterator[Cluster]:
    if not all(map(shutil.which, ("munged", "slurmctld", "slurmd"))):
        pytest.skip("needs Slurm: apt install slurmctld slurmd slurm-client munge")
    folder = tmp_path / "slurm"
    folder.mkdir()
    one = Cluster(folder, interval)
    one.settings("/bin/false")
    try:
        one.start()
        yield one
    finally:
        one.stop()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    yield from start(tmp_path, interval=0)


@pytest.mark.debian
def test_a_flapping_node_is_drained_at_once_and_resumed_after_good_checks_in_a_row(cluster: Cluster, machine: Machine) -> None:
    cluster.settings(machine(READY))
    assert cluster.check() == (0, "")
    assert cluster.node == ("IDLE", "")
    machine(BROKEN)
    for _ in range(2):
        assert cluster.check() == (0, "")
        state, reason = cluster.node
        assert state == "IDLE+DRAIN"
        assert reason.startswith("gpudoctor: BROKEN GD2")
    for recipe, state in ((READY, "IDLE+DRAIN"), (BROKEN, "IDLE+DRAIN"), (READY, "IDLE+DRAIN"), (READY, "IDLE")):
        machine(recipe)
        assert cluster.check() == (0, "")
        assert cluster.state == state


@pytest.mark.debian
def test_srun_collects_the_reports_for_fleet_merge(cluster: Cluster, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    size = "--nodes=40 --gpus-per-node=8 "
    options = "--ntasks-per-node=1 --kill-on-bad-exit=0 --output=reports/%N.json --error=reports/%N.err"
    documented = f"srun {size}{options} gpudoctor check --format json"
    assert f"`{documented}`" in FLEET_PAGE.read_text()
    words = (
        documented.replace(size, "")
        .replace("reports/", f"{reports}/")
        .replace("gpudoctor check", f"{sys.executable} -m gpudoctor check --node")
        .split()
    )
    assert run(*words, env=cluster.env).returncode == 1  # no GPU here
    host = socket.gethostname().partition(".")[0]
    merged = run(sys.executable, "-m", "gpudoctor", "fleet", "merge", "--format", "json", reports / f"{host}.json")
    assert [(node["name"], node["exit_code"]) for node in json.loads(merged.stdout)["nodes"]] == [(host, 1)]


@pytest.mark.debian
def test_what_somebody_else_drained_stays_drained(cluster: Cluster, machine: Machine) -> None:
    cluster.settings(machine(BROKEN), resume_after="1")
    for reason in ("fan is loud", "Prolog error"):
        for recipe in (BROKEN, READY):
            machine(recipe)
            cluster.drain(reason)
            assert cluster.check() == (0, "")
            assert cluster.node == ("IDLE+DRAIN", reason)
    cluster.scontrol("update", "NodeName=node-7", "State=RESUME")
    machine(BROKEN)
    cluster.check()
    cluster.drain("GPU is on its way to the vendor")
    machine(READY)
    assert cluster.check() == (0, "")
    assert cluster.node == ("IDLE+DRAIN", "GPU is on its way to the vendor")


@pytest.mark.debian
def test_unknown_and_failures_are_reported_and_drain_nothing(cluster: Cluster, machine: Machine) -> None:
    unknown = machine(UNKNOWN, MEMORY)
    cluster.settings(unknown)
    code, said = cluster.check()
    assert code == 1
    assert "UNKNOWN memory>=40GB" in said
    assert cluster.state == "IDLE"
    for program, expected in (("/no/such/gpudoctor", "exit code 127"), ("/bin/false", "exit code 1: no output")):
        cluster.settings(program)
        code, said = cluster.check()
        assert code == 1
        assert f"gpudoctor: gpudoctor failed with {expected}" in said
        assert cluster.state == "IDLE"
    cluster.settings(unknown, drain_unknown="yes")
    assert cluster.check() == (0, "")
    assert cluster.node[1].startswith("gpudoctor: UNKNOWN memory>=40GB")
    cluster.settings("/bin/false")
    assert cluster.check()[0] == 1
    assert cluster.state == "IDLE+DRAIN"


@pytest.mark.debian
def test_the_prolog_keeps_a_job_off_a_broken_gpu_and_the_health_check_says_why(cluster: Cluster, machine: Machine) -> None:
    cluster.settings("/bin/false")
    assert cluster.job("--gres=gpu:1") == 0, "a failed check does not stop a job"
    cluster.settings(machine(READY))
    assert cluster.job("--gres=gpu:1") == 0
    for _ in range(3):
        assert cluster.check() == (0, ""), "good checks before it broke do not count"
    machine(BROKEN)
    assert cluster.job() == 0, "a job without GPUs is not checked"
    assert cluster.job("--gres=gpu:1") != 0
    until(lambda: cluster.node == ("IDLE+DRAIN", "Prolog error"))
    machine(READY)
    assert cluster.check() == (0, "")
    state, reason = cluster.node
    assert state == "IDLE+DRAIN"
    assert reason.startswith("gpudoctor: BROKEN GD2")
    assert cluster.check() == (0, "")
    assert cluster.state == "IDLE"


@pytest.mark.debian
def test_slurmd_runs_the_health_check(tmp_path: Path, machine: Machine) -> None:
    for one in start(tmp_path, interval=1):
        one.settings(machine(BROKEN))
        until(lambda one=one: one.node[1].startswith("gpudoctor: BROKEN GD2"))
        machine(READY)
        until(lambda one=one: one.state == "IDLE")


def test_the_prolog_runs_no_slurm_command() -> None:
    words = set(
        re.findall(
            r"\b(s(?:control|queue|info|acct\w*|run|batch|cancel))\b",
            "".join(
                line
                for name in ("prolog", "common")
                for line in (RECIPES / "slurm" / name).read_text().splitlines()
                if not line.startswith("#")
            ),
        )
    )
    assert words == set()
