"""`gpudoctor plan` and `gpudoctor index` as a user meets them: the page, the documents, the exit codes, the refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.command import GPUDOCTOR, document, environment, run, sentence
from tests.seams.pids import gone_soon

PASCAL = ("--gpu", "GTX 1080", "--driver", "535.104.05", "--python-version", "3.12")
OFFLINE = "--offline"
KEPLER = ("--gpu", "Tesla K80", "--driver", "580.65.06")


def test_the_page_has_the_answer_the_pins_with_reasons_and_the_commands() -> None:
    ended = run("plan", OFFLINE, "torch<=2.15.0", "torchvision<=0.29.2", *PASCAL)
    assert (ended.returncode, ended.stderr) == (0, b"")
    text = ended.stdout.decode()
    assert text.startswith("✓ READY  torch 2.15.0 for CUDA 12.6 works on this machine.\n")
    assert "  torch        2.15.0+cu126  the newest release that satisfies torch<=2.15.0\n" in text
    assert "  torchvision  0.29.2+cu126  the release for torch 2.15.0\n" in text
    assert "\nuv\n  uv venv --python 3.12 .venv && uv pip install" in text
    assert text.endswith("\nPlanned from the tables alone (--offline).\n")
    prose = [line for line in text.splitlines() if "pip install" not in line]
    assert all(len(line) <= 80 for line in prose)


@pytest.mark.parametrize("command", [("plan", OFFLINE), ("index",)])
def test_versions_and_names_are_read_as_people_and_tools_write_them(command: tuple[str, ...]) -> None:
    spelt = ("--gpu", "GPU 0: GTX 1080", "--driver", "v535.104.05", "--python-version", "cp312")
    assert run(*command, "torch<=2.15.0", *spelt).stdout == run(*command, "torch<=2.15.0", *PASCAL).stdout != b""


def test_nothing_that_works_exits_with_1_and_names_the_driver() -> None:
    ended = run("plan", OFFLINE, "torch<=2.15.0", *KEPLER)
    assert ended.returncode == 1
    text = ended.stdout.decode()
    assert text.startswith("✗ BROKEN  No build of torch<=2.15.0 works on this machine:")
    assert "\nWith a driver of branch 470\n  torch 2.3.1 for CUDA 11.8 works.\n" in text


def test_the_document_is_valid_and_says_what_the_page_says() -> None:
    for asked, code in ((PASCAL, 0), (KEPLER, 1)):
        ended = run("plan", OFFLINE, "torch<=2.15.0", *asked, "--format", "json")
        plan = document("plan", ended.stdout)
        assert (plan["exit_code"], ended.returncode) == (code, code)
        assert (plan["environment"] is None) is (code == 1)


def test_this_machine_is_looked_at_if_none_is_stated() -> None:
    plan = document("plan", run("plan", OFFLINE, "torch<=2.15.0", "--format", "json").stdout)
    assert {one["where"] for one in plan["machine"]} == {"this machine"}
    assert plan["environment"]["python_reason"] == "the version on this machine"


def test_index_prints_one_line() -> None:
    for more, line in (((), b"https://download.pytorch.org/whl/cu126\n"), (("--torch-backend",), b"cu126\n")):
        ended = run("index", "torch<=2.15.0", *PASCAL, *more)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, line, b"")
    assert run("index", "torch", "--gpu", "none").stdout == b"https://download.pytorch.org/whl/cpu\n"
    assert run("index", "torch==2.15.0", "--gpu", "L4").stdout == b"https://download.pytorch.org/whl/cu132\n"


def test_index_without_an_answer_prints_the_reason_to_standard_error() -> None:
    ended = run("index", "torch", *KEPLER)
    assert (ended.returncode, ended.stdout) == (1, b"")
    assert "does not support GPU 0 Tesla K80" in sentence(ended.stderr)
    found = document("index", run("index", "torch", *KEPLER, "--format", "json").stdout)
    assert (found["index"], found["exit_code"]) == ("", 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "torch", "--gpu", "GTX 9999"), "No GPU in the tables"),
        (("plan", "torch>=99", "--gpu", "L4"), "they list"),
        (("plan", "gradio", "--gpu", "L4"), "No table lists gradio"),
        (("index", "tensorflow", "--gpu", "L4"), "has no package index of its own"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_the_next_step(arguments: tuple[str, ...], said: str) -> None:
    ended = run(*arguments)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert said in sentence(ended.stderr)


def test_write_replaces_nothing_without_force_and_keeps_the_file_private(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    command = ("plan", OFFLINE, "torch<=2.15.0", *PASCAL, "--write", str(file))
    assert run(*command).returncode == 0
    assert file.read_text().endswith("--extra-index-url https://download.pytorch.org/whl/cu126\ntorch==2.15.0+cu126\n")
    assert file.stat().st_mode & 0o777 == 0o600
    again = run(*command)
    assert (again.returncode, again.stdout) == (2, b"")
    assert "exists; name another file, or replace it with --force" in sentence(again.stderr)
    assert run(*command, "--force").returncode == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--write", "plan.xml"), "name it requirements.txt"),
        (("--write", "/no/such/folder/requirements.txt"), "is not a folder"),
        (("--write", "pylock.toml"), "only uv finds out"),
        (("--verify", "--yes"), "--verify needs the files that uv would install"),
    ],
)
def test_what_cannot_be_written_or_verified_is_refused(more: tuple[str, ...], said: str) -> None:
    ended = run("plan", OFFLINE, "torch<=2.15.0", *PASCAL, *more)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert said in sentence(ended.stderr)


@pytest.mark.index
def test_verify_makes_the_environment_trains_in_it_and_leaves_nothing(tmp_path: Path) -> None:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    ended = run(
        *("plan", "jax", "--gpu", "none", "--python-version", python, "--verify", "--yes", "--format", "json"),
        env=environment(TMPDIR=str(tmp_path)),
    )
    plan = document("plan", ended.stdout)
    assert (ended.returncode, plan["resolver"], plan["verification"]["verdict"]) == (0, "uv", "ready")
    assert plan["verification"]["devices"] == ["CPU:0"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.index
def test_a_stopped_plan_leaves_nothing(tmp_path: Path) -> None:
    command = (*GPUDOCTOR, "plan", "jax", "--gpu", "none", "--verify", "--yes")
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen(command, env=environment(TMPDIR=str(tmp_path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for _ in range(600):  # until it has begun to work
                if any(tmp_path.iterdir()):
                    break
                time.sleep(0.05)
            process.send_signal(number)
            process.communicate(timeout=30)
        assert process.returncode == 128 + number
        assert list(tmp_path.iterdir()) == []


UV = """#!{python}
import os, pathlib, re, sys, time
words = sys.argv[1:]
if words[:2] == ["pip", "compile"]:
    pins = re.findall(r"(\\w+)==([\\w.]+)", pathlib.Path(words[2]).read_text())
    text = "".join(f'[[packages]]\\nname = "{{name}}"\\nversion = "{{version}}"\\n' for name, version in pins)
    pathlib.Path(words[words.index("--output-file") + 1]).write_text('lock-version = "1.0"\\n' + text)
elif words[0] == "venv":
    pathlib.Path(words[words.index("--python") + 2]).mkdir(parents=True)
else:
    place = pathlib.Path(words[words.index("--python") + 1])
    pathlib.Path("{started}.new").write_text(str(os.getpid()))
    os.replace("{started}.new", "{started}")
    for number in range(10**6):  # writes until it is stopped
        place.mkdir(parents=True, exist_ok=True)
        (place / f"half-installed-{{number % 100}}").write_text("")
        time.sleep(0.01)
"""
"""A uv that resolves to what it is asked for and never finishes an installation."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("keep", [False, True])
def test_a_verification_stopped_while_it_installs_leaves_nothing(tmp_path: Path, number: signal.Signals, keep: bool) -> None:
    folder, programs, started = tmp_path / "temporary", tmp_path / "bin", tmp_path / "started"
    folder.mkdir()
    programs.mkdir()
    (programs / "uv").write_text(UV.format(python=sys.executable, started=started))
    (programs / "uv").chmod(0o755)
    command = (*GPUDOCTOR, "plan", "jax", "--gpu", "none", "--verify", "--yes", *(("--keep", str(folder / "kept")) if keep else ()))
    there = environment(TMPDIR=str(folder), PATH=f"{programs}:{os.environ['PATH']}")
    with subprocess.Popen(command, env=there, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        for _ in range(1200):
            if started.exists() or process.poll() is not None:
                break
            time.sleep(0.05)
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number, said
    assert list(folder.iterdir()) == []
    assert gone_soon(int(started.read_text()))


def test_python_2_is_refused_where_no_command_could_run() -> None:
    ended = run("plan", OFFLINE, "torch", "--gpu", "A100", "--python-version", "2.7")
    assert (ended.returncode, sentence(ended.stderr).count("Python 2.7")) == (2, 1)
