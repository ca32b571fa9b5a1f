"""The playbook, run by ansible-playbook with this machine as its only host."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.scripts.preflight import BROKEN, MEMORY, READY, RECIPES, UNKNOWN, Machine, Recipe, run

Play = Callable[..., tuple[int, str]]


@pytest.fixture
def play(machine: Machine, tmp_path: Path) -> Play:
    """`play(READY, variable=value)`: exit code and output of the playbook."""
    program = Path(sys.prefix) / "bin" / "ansible-playbook"
    assert program.exists(), "ansible-core is in the test group of pyproject.toml"

    def provide(recipe: Recipe, inventory: Path | str = "this-machine,", **variables: Any) -> tuple[int, str]:
        folders = {"ANSIBLE_LOCAL_TEMP": "tmp", "ANSIBLE_REMOTE_TEMP": "remote", "ANSIBLE_HOME": "home"}
        env = {
            **os.environ,
            **{name: str(tmp_path / folder) for name, folder in folders.items()},
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",  # one process a task in place of five
            "LC_ALL": "C.UTF-8",
        }
        extra = {
            "ansible_connection": "local", "ansible_python_interpreter": sys.executable, "gpudoctor_wait": 1,
            "gpudoctor_program": str(machine(recipe)), "gpudoctor_reports": str(tmp_path / "reports"), **variables,
        }  # fmt: skip
        done = run(program, "-i", inventory, "-e", json.dumps(extra), RECIPES / "ansible.yaml", env=env, cwd=tmp_path)
        return done.returncode, done.stdout + done.stderr

    return provide


def test_a_broken_machine_fails_with_the_cause_and_the_fix_and_leaves_its_report(play: Play, tmp_path: Path) -> None:
    code, said = play(BROKEN)
    assert code == 2, said
    report = json.loads((tmp_path / "reports" / "this-machine.json").read_bytes())
    assert report["verdict"] == "broken"
    cause = report["findings"][0]
    shown = [line.strip().rstrip(",").strip('"') for line in said.splitlines()]
    assert f"broken: {cause['message']}" in shown
    assert any(line.startswith(("Fix: ", "Check: ")) for line in shown)
    for fix in cause["fixes"]:
        for line in fix["command"].splitlines():
            assert json.dumps(line)[1:-1] in shown


def test_ready_machines_pass_and_their_reports_are_merged_by_their_names_in_the_inventory(play: Play, tmp_path: Path) -> None:
    inventory = tmp_path / "inventory"
    inventory.write_text("gpu001\ngpu002\n")
    code, said = play(READY, inventory=inventory, gpudoctor_require=["driver>=550", "memory>=80GB"])
    assert code == 0, said
    assert said.count("ready: CUDA initialised on 1 of 1 GPU") == 2
    done = run(sys.executable, "-m", "gpudoctor", "fleet", "merge", tmp_path / "reports", "--format", "json")
    assert [(node["name"], node["verdict"]) for node in json.loads(done.stdout)["nodes"]] == [("gpu001", "ready"), ("gpu002", "ready")]


def test_an_unknown_machine_fails_and_says_why(play: Play) -> None:
    code, said = play(UNKNOWN, gpudoctor_level="look", gpudoctor_require=list(MEMORY))
    assert code == 2, said
    assert "unknown: memory>=40GB was not checked" in said


def test_a_wrong_option_is_not_a_verdict(play: Play) -> None:
    code, said = play(READY, gpudoctor_require=["gpus"])
    assert code == 2, said
    assert "Show the cause and the fix" not in said
