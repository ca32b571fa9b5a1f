"""The Dockerfile, without Docker: its steps are run here, its health check is run by the shell, and scripts/lint runs hadolint."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.scripts.preflight import BROKEN, MEMORY, READY, RECIPES, ROOT, UNKNOWN, Machine, Recipe, run

INSTRUCTIONS = re.findall(
    r"^(?:HEALTHCHECK .* )?([A-Z]+) (.+)$", (RECIPES / "docker" / "Dockerfile").read_text().replace("\\\n", ""), re.MULTILINE
)


@pytest.mark.index
def test_the_steps_of_the_build_stage_give_a_program(tmp_path: Path) -> None:
    """COPY and RUN in folders of this machine, with uv, which takes a fraction of pip's time."""
    source, installed = tmp_path / "src", tmp_path / "gpudoctor"
    source.mkdir()
    for instruction, arguments in INSTRUCTIONS[: INSTRUCTIONS.index(("FROM", "python:3.13-slim-bookworm AS gpudoctor"))]:
        if instruction == "COPY":
            *files, target = arguments.split()
            for name in files:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, source / target, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, source / target)
        elif instruction == "RUN":
            uv = f"{sys.executable} -m uv"
            command = arguments.replace("python -m venv", f"{uv} venv").replace("/opt/gpudoctor/bin/pip", f"{uv} pip")
            command = command.replace("--no-cache-dir", "--python /opt/gpudoctor").replace("/opt/gpudoctor", str(installed))
            done = run("sh", "-c", command, cwd=source)
            assert done.returncode == 0, done.stdout + done.stderr
    done = run(installed / "bin" / "gpudoctor", "--version", env={"PATH": os.environ["PATH"]}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0." in done.stdout


@pytest.mark.parametrize(("recipe", "code"), [(READY, 0), (BROKEN, 1), (UNKNOWN, 1)])
def test_the_health_check_knows_only_healthy_and_unhealthy(recipe: Recipe, code: int, machine: Machine) -> None:
    checks = [json.loads(arguments) for instruction, arguments in INSTRUCTIONS if instruction == "CMD" and "--format oneline" in arguments]
    (command,) = checks
    program = machine(recipe, MEMORY)
    env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    assert run(*command, env=env).returncode == code
    program.write_text("#!/bin/sh\nexit 4\n")
    assert run(*command, env=env).returncode == 1
