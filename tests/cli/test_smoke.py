"""`gpudoctor smoke` as a program, with the TensorFlow of the test environment: on the CPU, or on the GPU where there is one."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gpudoctor.diagnose.rules import RULES
from tests.cli.command import GPUDOCTOR, ROOT, document, environment, in_terminal, run, sentence
from tests.seams.once import once

SMOKE = ("smoke", "--allow-cpu", "--python", sys.executable)


class Reported(NamedTuple):
    """A training reported as text, where standard output is not UTF-8, and as a document."""

    text: bytes
    told: bytes
    report: dict[str, Any]


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    def make() -> Reported:
        file = tmp_path_factory.mktemp("reported") / "report.json"
        ascii_alone = environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
        ended = run(*SMOKE, "--framework", "tensorflow", "--json", str(file), env=ascii_alone)
        report = document("report", file.read_bytes())
        assert ended.returncode == report["exit_code"]
        return Reported(ended.stdout, ended.stderr, report)

    return once(tmp_path_factory, "report-of-smoke", make)


@pytest.fixture(scope="module")
def report(reported: Reported) -> dict[str, Any]:
    return reported.report


def test_the_document_is_the_report_with_the_curves(report: dict[str, Any]) -> None:
    assert report["command"] == "smoke"
    assert report["policy"]["frameworks"] == ["tensorflow"]
    (smoke,) = report["snapshot"]["smoke"]
    assert len(smoke["trainings"][0]["losses"]) > 20
    assert smoke["trainings"][0]["losses"][-1] < 0.01


def test_only_what_concerns_a_training_is_judged(report: dict[str, Any]) -> None:
    severities = {rule.name: rule.severity.value for rule in RULES}
    judged = report["policy"]["only"]
    assert {"GD201", "GD601", "GD901", "GD906", "GD111"} <= set(judged)
    assert not {"GD712", "GD305", "GD804"} & set(judged)
    assert all(severities[one["name"]] != "note" for one in (*report["findings"], *report["passed"]))


def test_the_text_is_a_table_of_numbers_and_ascii_where_standard_output_is_not_utf8(reported: Reported) -> None:
    assert reported.text.isascii()
    assert b" -> " in reported.text
    assert b"\\u" not in reported.text
    lines = reported.text.decode().splitlines()
    assert any(line.startswith("tensorflow 2.") for line in lines)
    labels = {line[2:21].strip() for line in lines if line.startswith("  ")}
    assert {"loss", "accuracy", "images/s", "vs CPU"} <= labels
    assert max(map(len, lines)) <= 80
    told = reported.told.decode().splitlines()
    assert told
    assert all(line.startswith("gpudoctor: ") and line.isascii() for line in told)


def test_a_terminal_shows_progress_and_the_curve_and_ends_clean(tmp_path: Path) -> None:
    printed = tmp_path / "printed"
    _, told = in_terminal(*SMOKE, stream="stderr", other=printed, LANG="C.UTF-8", LC_ALL="C.UTF-8")
    assert "→" in printed.read_text(encoding="utf-8")
    drawn = told.split("\r\x1b[2K")
    steps = [line for line in drawn if "/300" in line]
    assert len(steps) > 1
    assert all("loss " in line and len(line) <= 80 for line in steps)
    assert any(set("▁▂▃▄▅▆▇█") & set(line) for line in steps)
    assert drawn[-1] == ""


@pytest.mark.parametrize("command", ["smoke", "check"])
def test_a_framework_that_is_not_known_is_one_sentence(command: str) -> None:
    ended = run(command, "--framework", "mxnet")
    assert ended.returncode == 2
    assert "mxnet" in sentence(ended.stderr)
    assert "tensorflow, torch, jax" in sentence(ended.stderr)


def test_a_framework_that_is_not_installed_is_a_finding() -> None:
    ended = run(*SMOKE, "--framework", "jax", "--format", "json")
    whole = document("report", ended.stdout)
    assert (ended.returncode, whole["verdict"]) == (1, "broken")
    (finding,) = (one for one in whole["findings"] if one["severity"] == "error")
    assert finding["name"] == "framework-missing"
    assert "jax is requested with --framework, but it is not installed in" in finding["message"]
    assert whole["snapshot"]["smoke"]["cause"] == "absent"


def carries(process: Path, marker: bytes) -> bool:
    try:
        return process.name.isdigit() and marker in (process / "environ").read_bytes()
    except OSError:
        return False


def marked(marker: str) -> list[str]:
    """The processes whose environment holds `marker`."""
    return [process.name for process in Path("/proc").iterdir() if carries(process, marker.encode())]


@pytest.mark.parametrize(("number", "code", "stage"), [(signal.SIGTERM, 143, "importing"), (signal.SIGINT, 130, "0: training")])
def test_a_stopped_training_leaves_nothing_and_is_reported(number: signal.Signals, code: int, stage: str, tmp_path: Path) -> None:
    marker = f"{os.getpid()}-{code}-{len(stage)}"
    places = {"HOME": tmp_path / "home", "TMPDIR": tmp_path / "scratch"}
    for place in places.values():
        place.mkdir()
    env = environment(
        **{name: str(place) for name, place in places.items()}, COVERAGE_PROCESS_CONFIG=None, TERM="xterm", GPUDOCTOR_TEST_MARK=marker
    )
    master, slave = pty.openpty()
    command = (*GPUDOCTOR, *SMOKE, "--framework", "tensorflow", "--format", "json")
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        told = b""
        while stage.encode() not in told:
            told += os.read(master, 1 << 16)
        assert len(marked(marker)) > 1
        process.send_signal(number)
        whole = document("report", process.communicate(timeout=30)[0])
    os.close(master)
    assert process.returncode == whole["exit_code"] == code
    assert marked(marker) == []
    assert [sorted(place.rglob("*")) for place in places.values()] == [[], []]
    assert whole["snapshot"]["remarks"] == [f"stopped by {number.name}"]
    (smoke,) = whole["snapshot"]["smoke"]
    assert [one["name"] for one in smoke["stages"] if one["state"] == "stopped"] == ["import" if "import" in stage else "training"]
