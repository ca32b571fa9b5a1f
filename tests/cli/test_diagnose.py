"""`gpudoctor diagnose`, run for real."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import GPUDOCTOR, LOOK, ROOT, document, environment, run, sentence
from tests.read import texts


def piped(text: bytes, *arguments: str, files: tuple[str, ...] = ("-",)) -> subprocess.CompletedProcess[bytes]:
    command = (*GPUDOCTOR, "diagnose", *files, *arguments)
    return subprocess.run(command, input=text, cwd=ROOT, env=environment(), capture_output=True, timeout=60, check=False)


def test_a_text_on_standard_input() -> None:
    done = piped(texts.COLLECT_ENV.encode(), "--format", "json")
    report = document("report", done.stdout)
    assert (done.returncode, report["command"], report["findings"][0]["name"]) == (1, "diagnose", "gpu-too-new-for-build")
    assert report["findings"][0]["evidence"][1]["value"] == "12.0"


def test_standard_input_is_read_where_no_file_is_named() -> None:
    text = texts.COLLECT_ENV.encode()
    assert piped(text, "--only", "GD505", files=()).stdout == piped(text, "--only", "GD505").stdout
    assert sentence(piped(b"", files=()).stderr).startswith("gpudoctor: Standard input is empty;")


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "env.txt").write_text(texts.COLLECT_ENV)
    done = run("diagnose", str(tmp_path / "env.txt"))
    assert done.returncode == 1
    assert b"GD505" in done.stdout
    assert b"supposed" not in done.stdout


@pytest.mark.parametrize("around", [b"%b", b"Here is the report:\n\n```json\n%b\n```\n"], ids=["alone", "in Markdown"])
def test_a_report_of_check_has_the_same_diagnosis(around: bytes) -> None:
    written = run(*LOOK, "--format", "json").stdout
    before, after = json.loads(written), document("report", piped(around % written, "--format", "json").stdout)
    same = ("verdict", "exit_code", "findings", "could_not_tell", "passed", "ladder", "policy", "snapshot", "summary")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}


def test_a_report_that_was_cut_off_is_refused() -> None:
    done = piped(run(*LOOK, "--format", "json").stdout[:900])
    assert done.returncode == 2
    assert "damaged" in sentence(done.stderr)


def test_a_text_that_states_nothing_is_unknown_and_the_report_says_what_to_paste() -> None:
    done = piped(b"please help\n")
    assert done.returncode == 3
    assert b"nothing in standard input is recognised; paste" in done.stdout
    assert b"nvidia-smi" in done.stdout


def test_what_is_no_text_is_refused_with_what_to_paste() -> None:
    done = piped(bytes(range(256)) * 40)
    assert done.returncode == 2
    assert "nvidia-smi" in sentence(done.stderr)


def test_a_file_that_is_not_there() -> None:
    done = run("diagnose", "/nowhere/report.txt")
    assert done.returncode == 2
    assert "/nowhere/report.txt cannot be read" in sentence(done.stderr)
