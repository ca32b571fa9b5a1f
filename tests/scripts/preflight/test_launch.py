"""The wrapper around torchrun and accelerate: what it starts, what it refuses, and that a node is checked once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.scripts.preflight import BROKEN, MEMORY, READY, RECIPES, UNKNOWN, Machine, Recipe, run

LAUNCH = RECIPES / "gpudoctor_launch"
RANKS = {"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"}


def environment(program: Path | str, folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in RANKS}
    return {**kept, "GPUDOCTOR": str(program), "TMPDIR": str(folder), **more}


def test_arguments_and_exit_code_pass_through(machine: Machine, tmp_path: Path) -> None:
    words = ["a b", "", "--nproc-per-node=2", "*"]
    done = run(LAUNCH, "sh", "-c", 'printf "<%s>" "$@"; exit 7', "sh", *words, env=environment(machine(READY), tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (7, "".join(f"<{word}>" for word in words), "")


@pytest.mark.parametrize(("recipe", "unknown", "code"), [(BROKEN, "start", 1), (UNKNOWN, "start", 0), (UNKNOWN, "refuse", 3)])
def test_what_does_not_start(recipe: Recipe, unknown: str, code: int, machine: Machine, tmp_path: Path) -> None:
    env = environment(machine(recipe, MEMORY), tmp_path, GPUDOCTOR_UNKNOWN=unknown, GPUDOCTOR_LEVEL="look")
    done = run(LAUNCH, "echo", "started", env=env)
    assert done.returncode == code
    assert (done.stdout == "started\n") == (code == 0)
    assert done.stderr.startswith("BROKEN GD2" if recipe is BROKEN else "UNKNOWN memory")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("program", ["/bin/false", "/no/such/program"])
def test_a_failure_of_gpudoctor_starts_the_training(program: str, tmp_path: Path) -> None:
    done = run(LAUNCH, "echo", "started", env=environment(program, tmp_path))
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert "started without a check" in done.stderr


@pytest.mark.parametrize("code", [130, 143])
def test_a_check_that_is_stopped_starts_nothing(code: int, tmp_path: Path) -> None:
    program = tmp_path / "stopped"
    program.write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)
    done = run(LAUNCH, "echo", "started", env=environment(program, tmp_path))
    assert (done.returncode, done.stdout) == (code, "")


@pytest.mark.parametrize(("answer", "code"), [("READY", 0), ("BROKEN GD103", 1)])
@pytest.mark.parametrize("variable", sorted(RANKS))
def test_ranks_of_one_node_share_one_check(variable: str, answer: str, code: int, tmp_path: Path) -> None:
    """Eight ranks with one parent, as from srun; and again, for the answer of the last run must not be taken for that of this one."""
    program = tmp_path / "counted"
    program.write_text(f'#!/bin/sh\necho check >>{tmp_path}/checks\nsleep 0.2\necho "{answer}"\nexit {code}\n')
    program.chmod(0o755)
    for checks in (1, 2):
        lines = f'for rank in 0 1 2 3; do {variable}=$rank {LAUNCH} sh -c "exit 5" & pids="$pids $!"; done; for pid in $pids; do wait $pid; echo $?; done'
        done = run("sh", "-c", lines, env=environment(program, tmp_path))
        assert done.stdout.split() == [str(code or 5)] * 4
        assert done.stderr.count(answer) == code
        assert (tmp_path / "checks").read_text().count("check") == checks


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"gpudoctor-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    done = run(LAUNCH, "echo", "started", env=environment("/bin/true", tmp_path, LOCAL_RANK="0"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "belongs to somebody else" in done.stderr


@pytest.mark.index
def test_torchrun_starts_its_workers(framework_python: Callable[[str], Path], machine: Machine, tmp_path: Path) -> None:
    torchrun = framework_python("torch").parent / "torchrun"
    (tmp_path / "train.py").write_text("import os, sys\nsys.stdout.write(f\"{os.environ['LOCAL_RANK']} {sys.argv[1:]}\\n\")\n")
    command: list[Any] = [LAUNCH, torchrun, "--standalone", "--nproc-per-node=2", tmp_path / "train.py", "--epochs", "3"]
    done = run(*command, env=environment(machine(READY), tmp_path))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["0 ['--epochs', '3']", "1 ['--epochs', '3']"]
    done = run(*command, env=environment(machine(BROKEN), tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert subprocess.check_output(["hostname"], text=True).strip() in done.stderr
