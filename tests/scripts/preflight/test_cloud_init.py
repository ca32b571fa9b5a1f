"""The user data: cloud-init's own schema, and the script of the first boot, run."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml

from tests.scripts.preflight import BROKEN, READY, RECIPES, Machine, Recipe, run

USER_DATA = RECIPES / "cloud-init.yaml"


@pytest.mark.debian
def test_cloud_init_accepts_it_and_would_refuse_another(tmp_path: Path) -> None:
    if not shutil.which("cloud-init"):
        pytest.skip("needs cloud-init: apt install cloud-init")
    done = run("cloud-init", "schema", "--config-file", USER_DATA)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Valid" in done.stdout
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(USER_DATA.read_text().replace("permissions:", "mode:"))
    assert run("cloud-init", "schema", "--config-file", wrong).returncode != 0


@pytest.mark.parametrize(("recipe", "code"), [(READY, 0), (BROKEN, 1)])
def test_the_first_boot(recipe: Recipe, code: int, machine: Machine, tmp_path: Path) -> None:
    """All but the installation: python3 and pip do nothing, and gpudoctor is the one of this test."""
    program = machine(recipe)
    places = {"/opt/gpudoctor/bin": str(program.parent), "/var/log": str(tmp_path), "/etc/gpudoctor.toml": str(tmp_path / "gpudoctor.toml")}
    for name in ("python3", "pip"):
        (program.parent / name).write_text("#!/bin/sh\n")
        (program.parent / name).chmod(0o755)
    data = yaml.safe_load(USER_DATA.read_bytes())
    config, script = data["write_files"]
    assert data["runcmd"] == [[script["path"]]]
    text = script["content"]
    for place, here in places.items():
        text = text.replace(place, here)
    (tmp_path / "gpudoctor.toml").write_text(config["content"])
    (tmp_path / "first-boot").write_text(text)
    (tmp_path / "first-boot").chmod(int(script["permissions"], 8))
    done = run(tmp_path / "first-boot", env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"})
    assert done.returncode == code, done.stderr
    report = json.loads((tmp_path / "gpudoctor.json").read_bytes())
    assert report["policy"]["require"] == ["driver>=550", "gpus>=1"]
    assert report["exit_code"] == code
