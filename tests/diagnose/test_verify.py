"""The command that verifies a fix answers yes or no: it is run as it stands, before the cause is gone and after."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from gpudoctor.cli.plain_arguments import check_arguments
from gpudoctor.cli.settings import settings_of_options
from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.snapshot import Python, ScriptFolder
from tests.machines import store
from tests.machines.build import examine
from tests.machines.diagnoses import diagnosis
from tests.machines.recipes import RECIPES, Recipe
from tests.machines.store import NAMES, recorded
from tests.seams.every import every
from tests.shipped import shared_matrix

CURED: dict[str, Callable[[Recipe], Recipe]] = {
    "everything-masked": lambda broken: replace(broken, environment={}),
    "driver-470-tensorflow-cuda-12": lambda _: RECIPES["driver-525-at-the-floor"],
    "exclusive-and-taken": lambda _: RECIPES["healthy-one"],
    "tensorflow-cpu-installed": lambda _: RECIPES["healthy-one"],
}
"""Machines, and the same after their first fix."""


@pytest.mark.parametrize("name", CURED)
def test_a_verify_command_tells_a_cured_machine_from_a_broken_one(name: str, tmp_path: Path) -> None:
    broken = RECIPES[name]
    _, report = examine(broken, tmp_path / "first")
    root = next(finding for finding in report["findings"] if not finding["because_of"] and finding["severity"] != "note")
    words = shlex.split(next(fix["verify"] for fix in root["fixes"] if fix["verify"]))
    assert words[:2] == ["gpudoctor", "check"]
    asked = [word for word in words[2:] if word != "--no-smoke"]  # the recipe says --level look, which is the same
    place = asked.index("--python")
    del asked[place : place + 2]  # the environment is built again
    before, _ = examine(broken, tmp_path / "before", *asked)
    after, _ = examine(CURED[name](broken), tmp_path / "after", *asked)
    assert (before, after) == (1, 0)


def asked(command: str) -> Policy:
    """What a command of `gpudoctor check` asks for, as the command line reads it."""
    given = check_arguments(shlex.split(command)[2:])
    assert given is not None, command
    # the folder of the recorded machine is not on this one
    return settings_of_options(msgspec.structs.replace(given.options, cwd=None), None).options.policy


@every("name", NAMES[::3])
def test_a_verify_command_does_not_pass_on_the_machine_that_needs_the_fix(name: str) -> None:
    for finding in diagnosis(name).findings:
        for command in dict.fromkeys(fix.verify for fix in finding.fixes if fix.verify.startswith("gpudoctor check")):
            policy = asked(command)
            again = diagnose(recorded(name), shared_matrix(), policy)
            assert again.exit_code != 0, command


@every("name", NAMES[::3])
def test_commands_of_ours_examine_what_was_examined(name: str) -> None:
    snapshot, policy = recorded(name), store.policy(name)
    commands = [line for finding in diagnosis(name).findings for fix in finding.fixes for line in (fix.command, fix.verify)]
    for command in (line for line in commands if re.search(r"\bgpudoctor (check|smoke)\b", line)):
        words = shlex.split(command)
        if isinstance(snapshot.python, Python) and snapshot.python.named:
            assert "--python" in words, command
        if isinstance(snapshot.script_folder, ScriptFolder):
            assert words[words.index("--cwd") + 1] == snapshot.script_folder.path
        assert "--allow-cpu" in words or not policy.allow_cpu, command
        assert "--node" in words or not policy.node, command
