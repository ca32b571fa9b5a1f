"""`gpudoctor check` as a program: its streams, its documents, its exit codes. It holds on any machine, with or without a GPU."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudoctor.diagnose.rules import FAMILIES
from tests.cli.command import GPUDOCTOR, LOOK, ROOT, document, environment, run, sentence

ANSWERS = {0: {"ready", "degraded"}, 1: {"broken"}, 3: {"unknown"}}


def test_json_is_one_valid_document_and_nothing_else() -> None:
    ended = run(*LOOK, "--format", "json")
    report = document("report", ended.stdout)
    assert ended.stderr == b""
    assert ended.returncode == report["exit_code"]
    assert report["verdict"] in ANSWERS[ended.returncode]
    assert report["policy"]["level"] == "look"
    assert report["command"] == "check"
    assert Path(report["examined"]["python"]).name.startswith("python")


def test_oneline_is_one_short_line() -> None:
    ended = run(*LOOK, "--format", "oneline")
    line = ended.stdout.decode("ascii")
    assert re.fullmatch(r"(READY|DEGRADED|UNKNOWN|BROKEN) .+\n", line)
    assert len(line) <= 81
    assert line.split()[0].lower() in ANSWERS[ended.returncode]
    assert ended.stderr == b""


def test_text_in_a_pipe_has_no_colour() -> None:
    ended = run(*LOOK)
    text = ended.stdout.decode()
    assert "\x1b" not in text
    assert text.splitlines()[0].split()[1].rstrip(":").lower() in ANSWERS[ended.returncode]
    assert ended.stderr in {b"", b"gpudoctor: looking at the machine\n"}  # the latter where the machine is slow
    assert run(*LOOK, "--quiet").stderr == b""


def test_python_m_and_version() -> None:
    assert re.fullmatch(rb"gpudoctor \d+\.\d+\.\d+\S*\n", run("--version").stdout)


@pytest.mark.parametrize("env", [{}, {"HOME": "/nonexistent", "TERM": "dumb"}, {"TERM": "no-such-terminal", "LANG": "xx_YY"}])
@pytest.mark.parametrize("form", ["text", "json", "oneline"])
def test_a_poor_environment_changes_nothing(env: dict[str, str], form: str) -> None:
    ended = run(*LOOK, "--format", form, env=env)
    assert ended.returncode in ANSWERS
    assert b"Traceback" not in ended.stdout + ended.stderr
    assert ended.stdout


def test_ascii_where_standard_output_is_not_utf8() -> None:
    ended = run(*LOOK, env=environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"))
    assert ended.stdout.isascii()
    assert ended.stdout.split()[0] in {b"X", b"OK", b"!", b"?"}


def test_colour_where_it_is_forced_and_not_where_it_is_forbidden() -> None:
    assert b"\x1b[" in run(*LOOK, env=environment(FORCE_COLOR="1")).stdout
    assert b"\x1b" not in run(*LOOK, env=environment(FORCE_COLOR="1", NO_COLOR="1")).stdout
    assert b"\x1b" not in run(*LOOK, "--no-color", env=environment(FORCE_COLOR="1")).stdout


@pytest.mark.parametrize("form", ["text", "json", "oneline"])
@pytest.mark.parametrize(("redirect", "words"), [(">&-", "Standard output is closed"), (">/dev/full", "No space left on device")])
def test_a_standard_output_that_takes_nothing_is_said(redirect: str, words: str, form: str) -> None:
    ended = run(*LOOK, "--quiet", "--format", form, shell_redirect=redirect)
    assert ended.returncode == 2
    assert words in sentence(ended.stderr)


@pytest.mark.parametrize("arguments", [("--help",), ("check", "--help")])
@pytest.mark.parametrize("redirect", [">&-", ">/dev/full"])
def test_a_help_that_nobody_can_read_is_said(redirect: str, arguments: tuple[str, ...]) -> None:
    ended = run(*arguments, shell_redirect=redirect)
    assert ended.returncode == 2
    assert "The help could not be written" in sentence(ended.stderr)


def test_closed_standard_error_is_no_trouble() -> None:
    ended = run(*LOOK, "--format", "json", shell_redirect="2>&-")
    assert document("report", ended.stdout)["exit_code"] == ended.returncode


def test_all_streams_closed() -> None:
    assert run(*LOOK, shell_redirect="<&- >&- 2>&-").returncode == 2


@pytest.mark.parametrize("arguments", [(*LOOK, "--format", "json"), (*LOOK, "--quiet"), ("rules",), ("schema",), ("explain", "GD101")])
def test_a_reader_that_went_away_is_not_broken(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            (*GPUDOCTOR, *arguments), cwd=ROOT, env=environment(), stdout=writing, stderr=subprocess.PIPE, timeout=120, check=False
        )
    finally:
        os.close(writing)
    assert ended.returncode == run(*arguments).returncode
    assert ended.stderr == b""


@pytest.mark.parametrize("arguments", [("--help",), ("check", "--help"), ("--version",), ("rules",), ("schema",), ("explain", "GD101")])
def test_a_full_disk_is_said_by_every_page(arguments: tuple[str, ...]) -> None:
    ended = run(*arguments, shell_redirect=">/dev/full")
    assert ended.returncode == 2
    assert "No space left on device" in sentence(ended.stderr)


def test_a_report_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text("old")
    file.chmod(0o644)
    ended = run(*LOOK, "--format", "json", "-o", str(file))
    assert ended.stdout == b""
    assert re.fullmatch(r"(READY|DEGRADED|UNKNOWN|BROKEN) .+\n", ended.stderr.decode())
    assert document("report", file.read_bytes())["exit_code"] == ended.returncode
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_quiet_report_in_a_file_says_nothing(tmp_path: Path) -> None:
    ended = run(*LOOK, "--quiet", "-o", str(tmp_path / "report.txt"), env=environment(FORCE_COLOR="1"))
    assert ended.stdout + ended.stderr == b""
    assert "\x1b" not in (tmp_path / "report.txt").read_text(encoding="utf-8")


def test_minus_is_standard_output() -> None:
    document("report", run(*LOOK, "--format", "json", "-o", "-").stdout)


def test_a_symbolic_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "link").symlink_to("precious")
    ended = run(*LOOK, "-o", str(tmp_path / "link"))
    assert ended.returncode == 2
    assert "symbolic link" in sentence(ended.stderr)
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize(("file", "words"), [("/dev/full", "No space left"), ("no/such/folder/x", "is not a folder"), (".", "is a folder")])
def test_a_file_that_cannot_be_written_is_said(file: str, words: str) -> None:
    ended = run(*LOOK, "--format", "json", "--quiet", "-o", file)
    assert ended.returncode == 2
    error = document("error", ended.stdout)
    assert error["error"]["kind"] == "output"
    assert words in error["error"]["message"]
    assert words in sentence(ended.stderr)
    assert Path("/dev/full").is_char_device()


def test_a_report_that_cannot_be_written_leaves_its_verdict() -> None:
    verdict, trouble = run(*LOOK, "-o", "/dev/full").stderr.decode().splitlines()[-2:]
    assert re.match(r"READY|DEGRADED|UNKNOWN|BROKEN", verdict)
    assert "No space left" in trouble


LOADED = """
import os, sys
leave = os._exit
os._exit = lambda code: (os.write(2, " ".join(sys.modules).encode()), leave(code))
from gpudoctor.__main__ import main
main()
"""
WRITERS = frozenset(f"gpudoctor.report.{name}" for name in ("terminal", "document", "oneline", "junit", "markdown", "github", "sarif"))
PARTS = frozenset(
    (
        "check", "children", "cli", "conditions", "crash", "derive", "diagnose", "digits", "elf", "errors", "examination", "exit_codes", "expressions", "findings", "frameworks",
        "matrix", "matrix_files", "probe", "process", "progress", "redact", "regular_files", "report", "schema_fields",
        "signatures", "snapshot", "status_codes", "suggestions", "terminal_text", "typed_values", "versions", "__main__",
    )
)  # fmt: skip
"""The modules and packages of gpudoctor that a check without training may load."""
SLOW = frozenset(
    (
        "argparse", "asyncio", "concurrent", "dataclasses", "dis", "hashlib", "importlib.metadata", "inspect", "json", "logging", "multiprocessing",
        "pathlib", "pickle", "platform", "random", "shutil", "socket", "string", "tempfile", "tomllib", "traceback", "urllib", "zipfile",
    )
)  # fmt: skip
"""Modules of the standard library that take a millisecond or more to load."""
OTHERS = frozenset(
    (
        "typer",
        "click",
        "rich",
        "packaging.requirements",
        "packaging.markers",
        "jinja2",
        "yaml",
        "ClusterShell",
        "tomli",
        "typing_extensions",
        "pynvml",
    )
)
"""What other commands and the children need."""


@pytest.mark.parametrize(("form", "writer"), [("text", "terminal"), ("json", "document"), ("oneline", "oneline")])
def test_a_check_loads_no_more_than_it_needs(form: str, writer: str) -> None:
    """Start-up is measured by scripts/bench/startup; this keeps out what would make it slow. The children have modules of their own."""
    ended = subprocess.run(
        (sys.executable, "-I", "-c", LOADED, *LOOK, "--quiet", "--format", form),
        cwd=ROOT, env=environment(COVERAGE_PROCESS_CONFIG=None), capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    loaded = set(ended.stderr.decode().split())
    ours = {name for name in loaded if name.startswith("gpudoctor.")}
    assert loaded & WRITERS == {f"gpudoctor.report.{writer}"}
    assert {name.split(".")[1] for name in ours} <= PARTS
    assert not {name for name in ours if name.startswith("gpudoctor.signatures.")} - {"gpudoctor.signatures.signature"}
    assert not loaded & (SLOW | OTHERS)
    of_gpus = {name for rules in FAMILIES.values() for name, needs in rules.items() if "gpus" in needs}
    assert b"No NVIDIA GPU" not in ended.stdout or not {name.rpartition(".")[2] for name in ours} & of_gpus


def test_the_command_line_itself_imports_next_to_nothing() -> None:
    code = "import sys; before = set(sys.modules); import gpudoctor.cli; print(*sorted(set(sys.modules) - before))"
    ended = subprocess.run((sys.executable, "-c", code), cwd=ROOT, env=environment(), capture_output=True, timeout=60, check=True)
    ours = [name for name in ended.stdout.decode().split() if name.startswith("gpudoctor")]
    assert ours == [
        "gpudoctor",
        "gpudoctor.cli",
        "gpudoctor.cli.failure",
        "gpudoctor.cli.new_file",
        "gpudoctor.cli.output",
        "gpudoctor.crash",
        "gpudoctor.errors",
        "gpudoctor.exit_codes",
        "gpudoctor.terminal_text",
    ]
    assert not {"msgspec", "typer", "rich", "json", "tomllib"} & set(ended.stdout.decode().split())


def _is(process: Path, marker: bytes) -> bool:
    try:
        return process.name.isdigit() and marker in (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def _sleepers(marker: str) -> list[Path]:
    return [process for process in Path("/proc").iterdir() if _is(process, marker.encode())]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_check_ends_its_children_and_still_reports(tmp_path: Path, number: signal.Signals, code: int) -> None:
    marker = f"611.{code}{os.getpid()}"
    target = tmp_path / "python"
    target.write_text(f"#!/bin/sh\nexec sleep {marker}\n")
    target.chmod(0o755)
    with subprocess.Popen(
        (*GPUDOCTOR, "check", "--no-smoke", "--python", str(target), "--format", "json"),
        cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 30
        while not _sleepers(marker) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert _sleepers(marker)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == code
    assert document("report", stdout)["exit_code"] == code
    assert stderr == b""
    assert not _sleepers(marker)
