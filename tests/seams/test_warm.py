"""A fork of the process that has imported gpudoctor behaves as a new process does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.command import GPUDOCTOR, environment
from tests.seams import warm


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("nonsense",),
        ("explain", "GD101"),
        ("diagnose", "of another folder"),
        ("compat", "torch==2.5.1", "--gpu", "GTX 1080", "--driver", "470.57.02"),
    ],
)
def test_a_fork_says_what_a_new_process_says(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "of another folder").write_text("RuntimeError: CUDA error: no kernel image is available for execution on the device\n")
    env = environment(COVERAGE_PROCESS_CONFIG=None, COLUMNS="70")
    new = subprocess.run([*GPUDOCTOR, *words], env=env, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    fork = warm._Forks.run(warm._forks("gpudoctor"), ("gpudoctor", *words), env, str(tmp_path))
    assert (fork.returncode, fork.stdout.decode(), fork.stderr.decode()) == (new.returncode, new.stdout.decode(), new.stderr.decode())


@pytest.mark.parametrize("variable", ["COVERAGE_PROCESS_CONFIG", "LANG", "LD_PRELOAD", "PYTHONHASHSEED", "TZ"])
def test_a_new_process_reads_what_a_fork_would_not(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm._Forks, "run", lambda *_: pytest.fail("forked"))
    assert warm.gpudoctor("--version", env=environment(**{variable: "0"})).returncode == 0
