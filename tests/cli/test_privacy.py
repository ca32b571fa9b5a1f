"""What leaves the machine names nobody, and what stays on the user's own screen can be pasted as it stands."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from gpudoctor.cli.formats import Format
from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.snapshot import decode_snapshot
from tests.cli.command import LOOK, document, environment, in_terminal, run
from tests.machines.packages import environment as environment_with
from tests.shipped import shared_matrix

TOKEN = "hf_" + "A1b2C3d4E5f6G7h8I9j0"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder that stands on sys.path and in messages."""
    place = tmp_path / "home-of-alice"
    (place / "site").mkdir(parents=True)
    return place


def test_a_report_that_leaves_names_neither_home_nor_token(home: Path) -> None:
    env = environment(HOME=str(home), PYTHONPATH=f"{home}/site", LD_LIBRARY_PATH=f"{home}/{TOKEN}")
    for form in Format:
        written = run(*LOOK, "--format", form.value, env=env).stdout.decode()
        assert "home-of-alice" not in written
        assert TOKEN not in written
    report = document("report", run(*LOOK, "--format", "json", env=env).stdout)
    assert "~/site" in report["snapshot"]["python"]["path"]
    assert report["snapshot"]["variables"]["values"]["LD_LIBRARY_PATH"] == "~/***"


def test_a_terminal_shows_paths_as_they_are_and_no_token(home: Path) -> None:
    nowhere = str(home / "no-python")
    _, told = in_terminal("check", "--no-smoke", "--python", nowhere, stream="stderr", HOME=str(home))
    assert nowhere in told
    _, told = in_terminal("xray", "--python", sys.executable, "/bin/sh", stream="stdout", HOME="/bin")
    assert "/bin/sh" in told


def test_identify_keeps_home_and_host_and_no_token(home: Path) -> None:
    env = environment(HOME=str(home), PYTHONPATH=f"{home}/site", LD_LIBRARY_PATH=f"{home}/{TOKEN}")
    report = json.loads(run(*LOOK, "--format", "json", "--identify", env=env).stdout)
    assert f"{home}/site" in report["snapshot"]["python"]["path"]
    assert report["snapshot"]["host"]["hostname"]
    assert TOKEN not in json.dumps(report)


def test_the_command_line_in_a_report_names_no_home_and_no_token(home: Path) -> None:
    secret = f"GD712={home}/site {TOKEN}"
    arguments = (*LOOK, "--skip", secret, "--format", "json")
    report = document("report", run(*arguments, env=environment(HOME=str(home))).stdout)
    kept = [word for word in report["argv"] if "GD712" not in word]
    assert kept == ["gpudoctor", *("~".join(word.split(str(home))) for word in arguments if word != secret)]
    assert "GD712=~/site ***" in report["argv"]
    identified = document("report", run(*arguments, "--identify", env=environment(HOME=str(home))).stdout)
    assert f"GD712={home}/site ***" in identified["argv"]


def test_a_command_line_that_is_no_utf_8_is_kept_readable() -> None:
    ended = run(*LOOK, "--skip", b"GD712=\xff", "--format", "json")
    assert "GD712=\\xff" in document("report", ended.stdout)["argv"]


def test_an_error_document_names_no_home(home: Path) -> None:
    ended = run("check", "--python", f"{home}/no-python", "--format", "json", env=environment(HOME=str(home)))
    assert document("error", ended.stdout)["error"]["message"].startswith("--python ~/no-python: ")
    assert f"--python {home}/no-python: " in ended.stderr.decode()


def test_a_command_of_a_report_runs_as_it_stands(tmp_path: Path) -> None:
    home = tmp_path / "home of alice"
    home.mkdir()
    env = environment_with(home / "my env", ())
    ended = run(*LOOK, "--python", str(env), "--require", "torch", "--format", "json", env=environment(HOME=str(home)))
    report = document("report", ended.stdout)
    (finding,) = (one for one in report["findings"] if one["name"] == "framework-missing")
    install = next(fix for fix in finding["fixes"] if fix["kind"] == "fix")
    assert install["command"].startswith("""uv pip install --python "$HOME"/'my env/""") or install["command"].startswith(
        """\"$HOME"/'my env/"""
    )
    assert '--python "$HOME"/\'my env/' in install["verify"]
    snapshot = decode_snapshot(json.dumps(report["snapshot"]).encode())
    again = diagnose(snapshot, shared_matrix(), msgspec.convert(report["policy"], Policy))
    fixes = json.loads(msgspec.json.encode(next(one.fixes for one in again.findings if one.id == finding["id"])))
    assert [{key: fix[key] for key in finding["fixes"][0]} for fix in fixes] == finding["fixes"]


def test_a_command_on_a_terminal_names_the_path_itself(tmp_path: Path) -> None:
    env = environment_with(tmp_path / "alice" / "v", ())
    _, told = in_terminal("check", "--no-smoke", "--python", str(env), "--require", "torch", stream="stdout", HOME=str(tmp_path / "alice"))
    assert "$HOME" not in told
    assert f"{env}/bin/python" in told.replace("\r\n      ", "")
