"""The plugin of node-problem-detector: exit code and message, on this machine and from a container's view of it."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from tests.scripts.preflight import BROKEN, MEMORY, READY, RECIPES, UNKNOWN, Machine, Recipe, run
from tests.seams import box
from tests.seams.build import SeamUnavailable

FOLDER = RECIPES / "node_problem_detector"
PLUGIN = FOLDER / "gpudoctor_plugin"


@pytest.mark.parametrize(
    ("recipe", "code", "begins"),
    [(READY, 0, "READY CUDA initialised on 1 of 1 GPU"), (BROKEN, 1, "BROKEN GD2"), (UNKNOWN, 2, "UNKNOWN memory>=40GB")],
)
def test_exit_code_and_message(recipe: Recipe, code: int, begins: str, machine: Machine) -> None:
    done = run(PLUGIN, env={**os.environ, "GPUDOCTOR": str(machine(recipe, MEMORY))})
    assert done.returncode == code
    assert done.stdout.startswith(begins)
    assert done.stdout.count("\n") == 1
    assert len(done.stdout.strip().encode()) <= 80


def test_a_failure_of_gpudoctor_is_unknown() -> None:
    for program, code in (("false", 1), ("/no/such/program", 127)):
        done = run(PLUGIN, env={**os.environ, "GPUDOCTOR": program})
        assert (done.returncode, done.stdout) == (2, f"gpudoctor failed with exit code {code}\n")


@pytest.mark.parametrize(("recipe", "code"), [(READY, 0), (BROKEN, 1)])
def test_the_nodes_own_gpudoctor_runs_below_a_read_only_mount(recipe: Recipe, code: int, machine: Machine, tmp_path: Path) -> None:
    try:
        box.possible()
    except SeamUnavailable as reason:
        pytest.skip(str(reason))
    program, host = machine(recipe), tmp_path / "host"
    host.mkdir()
    lines = f"mount --rbind / {host}; mount -o remount,ro,bind {host}; ! touch {host}/written 2>/dev/null || exit 9; exec {shlex.quote(str(PLUGIN))}"
    env = {**os.environ, "GPUDOCTOR": str(program), "HOST_ROOT": str(host)}
    done = run(*box.ISOLATED, "sh", "-c", lines, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.startswith("READY" if code == 0 else "BROKEN GD2")


def test_the_configuration_fits_the_plugin() -> None:
    """As node-problem-detector validates it; `timeout` must leave the plugin its own limit of 57 seconds."""
    config = json.loads((FOLDER / "gpudoctor.json").read_bytes())
    (rule,), (condition,) = config["rules"], config["conditions"]
    assert (FOLDER / Path(rule["path"]).name).exists()
    assert rule["condition"] == condition["type"]
    assert config["pluginConfig"]["max_output_length"] == 80
    assert 57 < int(rule["timeout"][:-1]) <= int(config["pluginConfig"]["timeout"][:-1])
