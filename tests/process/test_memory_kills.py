"""The kernel's counters of out-of-memory kills, and the description of a SIGKILL."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from gpudoctor.process import ChildEnd, ChildOutcome, ChildSpec, KillCount, Supervisor, memory_kills

GROUP_2 = {"/proc/self/cgroup": "0::/system.slice/job.scope\n", "/proc/vmstat": "oom_kill 9\n"}
GROUP_1 = {"/proc/self/cgroup": "5:cpu,cpuacct:/a\n4:memory:/docker/1f\n0::/\n", "/proc/vmstat": "oom_kill 9\n"}
EVENTS = "low 0\noom 3\noom_kill 2\noom_group_kill 0\n"
CONTROL = "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (GROUP_2 | {"/sys/fs/cgroup/system.slice/job.scope/memory.events": EVENTS}, KillCount(2, "memory.events of this control group")),
        (GROUP_2 | {"/sys/fs/cgroup/memory.events": EVENTS}, KillCount(2, "memory.events of this control group")),
        (
            GROUP_1 | {"/sys/fs/cgroup/memory/docker/1f/memory.oom_control": CONTROL},
            KillCount(1, "memory.oom_control of this control group"),
        ),
        (GROUP_1 | {"/sys/fs/cgroup/memory/memory.oom_control": CONTROL}, KillCount(1, "memory.oom_control of this control group")),
        (GROUP_2, KillCount(9, "/proc/vmstat")),
        ({}, None),
    ],
)
def test_the_nearest_counter_is_read(files: dict[str, str], expected: KillCount | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_kills, "_text_or_empty", lambda file: files.get(file, ""))
    assert memory_kills.memory_kills() == expected


def test_a_file_of_the_kernel_is_read_whole() -> None:
    """The counter stands after some hundred others."""
    names = [line.split()[0] for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines()]
    assert [line.split()[0] for line in memory_kills._text_or_empty("/proc/vmstat").splitlines()] == names


def test_a_rise_compares_the_same_counter() -> None:
    before, after = KillCount(3, "/proc/vmstat"), KillCount(5, "/proc/vmstat")
    assert memory_kills.kills_since(before, after) == KillCount(2, "/proc/vmstat")
    assert memory_kills.kills_since(before, KillCount(5, "memory.events of this control group")) is None
    assert memory_kills.kills_since(None, before) is None


@pytest.mark.parametrize(
    ("kills", "words"),
    [
        (None, "sender unknown, usually the kernel when out of memory"),
        (KillCount(1, "memory.events of this control group"), "SIGKILL in importing it by the kernel, out of memory"),
        (KillCount(1, "/proc/vmstat"), "SIGKILL in importing it, probably by the kernel, out of memory"),
        (KillCount(0, "/proc/vmstat"), "sender unknown: the kernel counted no out-of-memory kill"),
    ],
)
def test_who_killed_it(kills: KillCount | None, words: str) -> None:
    killed = ChildOutcome(name="it", end=ChildEnd.SIGNALLED, code=signal.SIGKILL, mark="importing it", memory_kills=kills)
    assert words in killed.trouble
    assert "memory" not in ChildOutcome(name="it", end=ChildEnd.SIGNALLED, code=signal.SIGSEGV, memory_kills=kills).trouble


def test_only_a_child_that_ended_by_itself_is_asked_for() -> None:
    """We kill the others, and a success needs no explanation."""
    counted = memory_kills.memory_kills() is not None
    with Supervisor() as supervisor:
        for name, status in {"failed": "exit 3", "fine": "exit 0", "slow": "sleep 60"}.items():
            supervisor.start(ChildSpec(name=name, argv=("sh", "-c", status), deadline=0.5 if name == "slow" else 60))
        found = supervisor.wait(["failed", "fine", "slow"])
    assert {name: outcome.memory_kills is not None for name, outcome in found.items()} == {"failed": counted, "fine": False, "slow": False}
