"""A kernel without a list of children, and children that are somebody else's."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import pytest

from gpudoctor.process import ChildEnd, ChildSpec, Supervisor, memory_kills
from gpudoctor.process.orphans import child_pids, end_children_except

PR_GET_CHILD_SUBREAPER = 37
"""https://man7.org/linux/man-pages/man2/prctl.2.html"""


def no_process(_self: object = None) -> int:
    """Return a number that no process has."""
    return 0


def test_children_are_those_of_this_process() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        assert child.pid in child_pids()
        child.kill()
        child.wait()
        assert child.pid not in child_pids()


def test_a_kernel_that_keeps_no_list_of_children_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", no_process)
    assert child_pids() == set()
    with Supervisor() as supervisor:
        supervisor.start(ChildSpec(name="child", argv=("true",)))
        assert supervisor.wait(["child"])["child"].end is ChildEnd.EXITED


def test_a_stray_that_cannot_be_killed_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        others = child_pids() - {child.pid}
        with monkeypatch.context() as patched:
            patched.setattr(os, "kill", lambda *_: None)
            end_children_except(others, 0.1)
        assert child.poll() is None
        end_children_except(others, 10)
        assert child.poll() is not None


def test_a_kernel_that_counts_no_kills_is_no_reason_to_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_kills, "_CGROUP_FOLDER", str(tmp_path))
    monkeypatch.setattr(memory_kills, "_MACHINE_FILE", str(tmp_path / "vmstat"))
    assert memory_kills.memory_kills() is None


def test_orphans_are_adopted_only_while_a_supervisor_has_children() -> None:
    assert not adopts()
    with Supervisor() as supervisor:
        assert not adopts(), "nothing was started"
        supervisor.start(ChildSpec(name="child", argv=("sleep", "60")))
        assert adopts()
    assert not adopts()


def adopts() -> bool:
    """Return whether the kernel gives this process the orphans of its children."""
    answer = ctypes.c_int()
    assert ctypes.CDLL(None).prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(answer)) == 0
    return bool(answer.value)
