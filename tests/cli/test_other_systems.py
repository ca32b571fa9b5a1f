"""The commands on native Windows and macOS: a child without what only Linux has, whose sys.platform says so before anything is imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import document, environment, run, sentence

ELSEWHERE = """
import json, os, signal, subprocess, sys
import msgspec, packaging.version, rich.console, rich.table, typer  # other people's halves for Windows need Windows
sys.platform = {platform!r}
for module in {missing!r}:
    sys.modules[module] = None
for name in [one for one in dir(os) if one in {gone!r}]:
    delattr(os, name)
for name in ("SIGALRM", "SIGKILL", "SIGCHLD", "setitimer", "alarm") if sys.platform == "win32" else ():
    delattr(signal, name)
"""
POSIX = ("resource", "fcntl", "pwd", "grp", "termios", "pty")
GONE = (
    "O_NOFOLLOW",
    "O_CLOEXEC",
    "O_NONBLOCK",
    "O_NOCTTY",
    "geteuid",
    "getegid",
    "getgroups",
    "uname",
    "fork",
    "killpg",
    "setsid",
    "statvfs",
)
COMPAT = ("compat", "torch==2.5.1", "--gpu", "RTX 4090", "--driver", "550.54.14", "--python-version", "3.11")


def on(platform: str, place: Path) -> dict[str, str]:
    """The variables of a process that takes itself for one of `platform`; macOS has POSIX's functions."""
    windows = platform == "win32"
    gone, missing = (GONE, POSIX) if windows else (("O_PATH", "sched_getaffinity"), ())
    (place / "sitecustomize.py").write_text(ELSEWHERE.format(platform=platform, gone=gone, missing=missing))
    return environment(PYTHONPATH=str(place))


@pytest.mark.parametrize("command", ["check", "smoke", "xray", "envs"])
@pytest.mark.parametrize(("platform", "words"), [("win32", "native Windows; run it in WSL 2"), ("darwin", "macOS, which has no CUDA")])
def test_a_command_that_examines_a_machine_says_in_one_sentence_that_it_cannot_examine_this_one(
    command: str, platform: str, words: str, tmp_path: Path
) -> None:
    ended = run(command, env=on(platform, tmp_path))
    said = sentence(ended.stderr)
    assert ended.returncode == 2
    assert ended.stdout == b""
    assert words in said
    assert "`gpudoctor compat` works" in said
    assert "bug" not in said


def test_asked_for_json_it_writes_an_error_document(tmp_path: Path) -> None:
    ended = run("check", "--format", "json", env=on("win32", tmp_path))
    assert document("error", ended.stdout)["exit_code"] == 2


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_compat_and_the_pages_work_there(platform: str, tmp_path: Path) -> None:
    there = on(platform, tmp_path)
    ended = run(*COMPAT, env=there)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout == run(*COMPAT).stdout
    written = tmp_path / "report.json"
    saved = run(*COMPAT, "--format", "json", "-o", str(written), env=there)
    assert saved.returncode == 0, saved.stderr
    assert document("report", written.read_bytes())["verdict"] == "ready"
    for page in (("matrix", "gpu", "H100"), ("explain", "GD203"), ("rules",), ("schema", "report"), ("--version",)):
        ended = run(*page, env=there)
        assert (ended.returncode, ended.stderr) == (0, b""), page


def test_on_windows_a_written_report_names_nobody(tmp_path: Path) -> None:
    there = on("win32", tmp_path) | {"USERNAME": "margaret", "COMPUTERNAME": "APOLLO-11", "USERPROFILE": "/users/margaret"}
    written = tmp_path / "report.json"
    saved = run(*COMPAT, "--gpu", "margaret", "--cc", "8.9", "--format", "json", "-o", str(written), env=there)
    assert saved.returncode in {0, 3}, saved.stderr
    assert "margaret" not in written.read_text()
