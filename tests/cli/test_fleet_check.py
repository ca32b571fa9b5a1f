"""The command line of `gpudoctor fleet check`, without a cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str, code: str = "from gpudoctor.cli import run_and_exit; run_and_exit()") -> tuple[int, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", code, "fleet", "check", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    return done.returncode, done.stderr.removeprefix("gpudoctor: ").rstrip("\n")


def test_it_needs_an_engine() -> None:
    assert run() == (2, "Name the engine that reaches the nodes: --ray. With another engine, merge its reports: gpudoctor fleet merge DIR.")


def test_without_ray_it_says_what_to_install() -> None:
    code, said = run("--ray", code="import sys; sys.modules['ray'] = None; from gpudoctor.cli import run_and_exit; run_and_exit()")
    assert code == 2
    assert said.endswith("pip install 'gpudoctor-cli[ray]'.")


def test_without_a_cluster_it_says_so() -> None:
    code, said = run("--ray", "127.0.0.1:1", "--quiet")
    assert code == 2
    assert said.startswith("The Ray cluster at 127.0.0.1:1 cannot be reached")


@pytest.mark.parametrize(
    ("text", "why"),
    [(None, "cannot be read: No such file or directory."), ("[1", "is neither YAML nor JSON"), ("- pip", "holds no mapping")],
)
def test_a_runtime_environment_that_is_none_is_refused(text: str | None, why: str, tmp_path: Path) -> None:
    file = tmp_path / "env.yaml"
    if text is not None:
        file.write_text(text)
    code, said = run("--ray", "--runtime-env", str(file))
    assert code == 2
    assert said.startswith(f"--runtime-env: {file} {why}")


def test_ray_is_imported_for_ray_alone() -> None:
    code = (
        "import sys; from gpudoctor.cli.commands import program_with_command; program_with_command('fleet'); sys.exit('ray' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
