"""What a wrong command line, configuration file or defect of ours says: one sentence, one document, exit code 2 or 4."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.cli import failure
from gpudoctor.cli.commands import COMMANDS, program_with_command
from gpudoctor.errors import OutputError, UsageError
from tests.cli.command import GPUDOCTOR, LOOK, document, environment, run, sentence

WRONG = [
    (("--level", "loud"), "--level"),
    (("--fail-on", "note"), "--fail-on"),
    (("--nope",), "--nope"),
    (("--timeout", "soon"), "--timeout"),
    (("--timeout", "0"), "--timeout"),
    (("--timeout", "nan"), "--timeout"),
    (("--timeout=-5",), "--timeout"),
    (("--timeout",), "--timeout"),
    (("--wait", "0"), "--wait"),
    (("--require", "cuda>=12"), "starts with one of driver, gpus, memory, cc, fit, bf16, tensorflow, torch, jax"),
    (("--require", "gpu==8"), "did you mean gpus?"),
    (("--require", "tf>=2"), "did you mean tensorflow?"),
    (("--framework", "tf"), "did you mean tensorflow?"),
    (("--framework", ""), "--framework is empty"),
    (("--only", ""), "--only is empty"),
    (("--only", "driver_to_old"), "did you mean driver-too-old?"),
    (("--skip", "nccl-conflict"), "nccl-version-conflict"),
    (("--onyl", "GD1"), "--only"),
    (("--require", "driver"), "write it in quotes"),
    (("--require", "gpus=8"), "as in 'gpus==8'"),
    (("--require", "gpus===8"), "as in 'gpus==8'"),
    (("--require", "torch>=new"), "as in 'torch>=2.4'"),
    (("--require", "memory>=80"), "as in 'memory>=80GB'"),
    (("--require", "memory>=80Gbit"), "as in 'memory>=80GB'"),
    (("--require", "memory~=80GiB"), "as in 'memory>=80GB'"),
    (("--require", ""), "--require"),
    (("--require", "gpus==8", "--only", "GD1"), "which --require needs"),
    (("--only", "zzzzzzz"), "`gpudoctor rules` lists them"),
    (("--only", "GD101", "--skip", "no-gpu"), "leave no rule"),
    (("--config", "/no/such/file"), "/no/such/file"),
    (("--config", "/"), "Is a directory"),
    (("--python", "/no/such/python"), "/no/such/python"),
    (("--compat", "/no/such/folder"), "/no/such/folder"),
    (("--no-smoke", "--level", "full"), "give one of them"),
    (("surplus",), "surplus"),
    ((b"--\xff",), "\\udcff"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
@pytest.mark.parametrize("form", [("--format", "json"), ("--format=json",), ()])
def test_one_sentence_that_names_what_is_wrong(arguments: tuple[str | bytes, ...], words: str, form: tuple[str, ...]) -> None:
    ended = run("check", *form, *arguments)
    assert ended.returncode == 2
    assert words in sentence(ended.stderr)
    if form:
        error = document("error", ended.stdout)
        assert error["error"]["kind"] == "usage"
        assert error["exit_code"] == 2
        assert f"gpudoctor: {error['error']['message']}\n".encode().replace(b"\\xff", b"\\udcff") == ended.stderr
    else:
        assert ended.stdout == b""


@pytest.mark.parametrize("form", ["yaml", ""])
def test_an_unknown_format(form: str) -> None:
    ended = run("check", "--format", form)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert "--format" in sentence(ended.stderr)


def test_no_command_prints_one_screen_that_ends_with_the_command_to_try() -> None:
    ended = run()
    assert (ended.returncode, ended.stderr) == (0, b"")
    lines = ended.stdout.decode().splitlines()
    assert lines[-1] == "Try: gpudoctor check"
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_a_group_of_commands_alone_prints_its_help_as_an_error() -> None:
    alone, asked = run("fleet"), run("fleet", "--help")
    assert (alone.returncode, alone.stdout, alone.stderr) == (2, b"", asked.stdout)
    assert (asked.returncode, asked.stderr) == (0, b"")
    assert alone.stderr.startswith(b"Usage: gpudoctor fleet ")


def test_a_mistyped_command_is_corrected() -> None:
    ended = run("chekc")
    assert ended.returncode == 2
    assert sentence(ended.stderr) == "gpudoctor: No such command 'chekc'. Did you mean 'check'? See `gpudoctor --help`.\n"


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("colour = true", "no option 'colour'; did you mean no-color?"),
        ("zzz = true", "the options are level, no-smoke"),
        ("config = 'x'", "no option 'config'"),
        ("root = '/'", "no option 'root'"),
        ("timeout = 'soon'", "timeout: "),
        ("level = 'loud'", "level: "),
        ("only = 'GD101'", "only: "),
        ("require = 'gpus==8'", "require: "),
        ("[skip]\nGD712 = 1", "skip"),
        ("wait = 'long'", "wait: "),
        ("quiet = 1", "quiet: "),
        ("level = ", "is not valid TOML"),
        ("level = '\xff'", "is not UTF-8 text"),
    ],
)
def test_a_wrong_configuration_file_names_file_and_key(tmp_path: Path, toml: str, words: str) -> None:
    file = tmp_path / "gpudoctor.toml"
    file.write_bytes(toml.encode("latin-1"))
    ended = run("check", "--config", str(file))
    assert ended.returncode == 2
    assert words in sentence(ended.stderr)
    assert str(file) in sentence(ended.stderr)


def test_the_command_line_overrides_the_configuration_file(tmp_path: Path) -> None:
    file = tmp_path / "gpudoctor.toml"
    file.write_text("format = 'json'\nno-smoke = true\nonly = ['GD1', 'no-driver']\nfail-on = 'warning'\nquiet = true\n")
    report = document("report", run("check", "--config", str(file), "--only", "GD101,GD102", "--only", "GD206").stdout)
    wanted = {"level": "look", "allow_cpu": False, "only": ["GD101", "GD102", "GD206"], "skip": [], "fail_on": "warning"}
    assert report["policy"] == {**wanted, "reasons": {}, "require": [], "frameworks": [], "node": False}
    ended = run("check", "--config", str(file), "--format", "oneline")
    assert len(ended.stdout.splitlines()) == 1


def test_the_current_directory_configures_nothing(tmp_path: Path) -> None:
    for name in ("gpudoctor.toml", ".gpudoctor.toml", "pyproject.toml"):
        (tmp_path / name).write_text("[tool.gpudoctor]\nlevel = 'loud'\n")
    assert run(*LOOK, "--format", "oneline", env=None).stdout


@pytest.mark.parametrize("debug", [False, True])
def test_a_defect_of_ours_is_a_sentence_and_a_document(
    debug: bool,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GPUDOCTOR_DEBUG", raising=False)
    if debug:
        monkeypatch.setenv("GPUDOCTOR_DEBUG", "1")

    def body() -> int:
        nothing: dict[str, int] = {}
        return nothing["no such key"]

    assert failure.guarded_exit_code(body, as_json=True) == 4
    stdout, stderr = capfd.readouterr()
    error = document("error", stdout.encode())
    assert error["error"]["kind"] == "internal"
    assert error["error"]["message"].startswith("KeyError in gpudoctor.cli.failure, line ")
    assert "'no such key'" in error["error"]["message"]
    assert ("Traceback" in stderr) == debug
    if not debug:
        assert "a bug in gpudoctor" in sentence(stderr.encode())


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (UsageError("Give a file."), 2, "usage"),
        (OutputError("Disk full."), 2, "output"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (KeyboardInterrupt(signal.SIGTERM), 143, "interrupted"),
    ],
)
def test_each_kind_of_failure(error: BaseException, code: int, kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    def body() -> int:
        raise error

    assert failure.guarded_exit_code(body, as_json=True) == code
    stdout, stderr = capfd.readouterr()
    assert json.loads(stdout)["error"]["kind"] == kind
    assert sentence(stderr.encode())


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [([], False), (["--format"], False), (["--format", "json"], True), (["--format=json"], True), (["json", "--format", "text"], False)],
)
def test_whether_json_was_asked_for(arguments: list[str], asked: bool) -> None:
    assert failure.wants_json(arguments) is asked


@pytest.mark.parametrize("name", COMMANDS)
def test_a_listed_command_is_in_its_module(name: str) -> None:
    command = program_with_command(name).commands[name]
    assert command.callback is not None
    assert command.short_help == COMMANDS[name].help


def test_the_help_lists_commands_without_loading_one() -> None:
    listing = "from gpudoctor.cli.commands import COMMANDS, run_command_line; import sys; run_command_line(['--help']); print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    shown, _, loaded = ended.stdout.rstrip().rpartition("\n")
    assert all(f"  {name} " in shown for name in COMMANDS)
    assert not {f"gpudoctor.cli.{command.module}" for command in COMMANDS.values()} & set(loaded.split())


GONE = "The current directory no longer exists"
IN_NO_DIRECTORY = {
    ("envs", "--timeout", "30"): (0, ""),
    ("check", "--python", "venv"): (2, "no such file or folder"),
    ("check", "--no-smoke", "-o", "out.json"): (2, GONE),
    ("check", "--no-smoke", "--cwd", "x"): (2, GONE),
    ("xray", "lib.so"): (2, GONE),
    ("fit", "module:function"): (2, GONE),
    ("diagnose", "log"): (2, "log cannot be read"),
    ("plan", "torch", "--offline", "--write", "requirements.txt"): (2, "No file can be created"),
}


@pytest.mark.parametrize("arguments", IN_NO_DIRECTORY, ids=" ".join)
def test_a_current_directory_that_is_gone_is_no_defect_of_ours(arguments: tuple[str, ...], tmp_path: Path) -> None:
    code, words = IN_NO_DIRECTORY[arguments]
    (tmp_path / "gone").mkdir()
    command = ("sh", "-c", 'rmdir "$PWD"; exec "$0" "$@"', *GPUDOCTOR, *arguments)
    ended = subprocess.run(command, cwd=tmp_path / "gone", env=environment(), capture_output=True, timeout=120, check=False)
    assert (ended.returncode, words in ended.stderr.decode()) == (code, True)
    assert b"Traceback" not in ended.stderr


@pytest.mark.parametrize("arguments", [("rules",), ("schema",), ("check", "--help"), ("explain", "GD203")], ids=" ".join)
def test_texts_that_are_docstrings_survive_python_without_docstrings(arguments: tuple[str, ...]) -> None:
    assert run(*arguments, env=environment(PYTHONOPTIMIZE="2")).stdout == run(*arguments).stdout
