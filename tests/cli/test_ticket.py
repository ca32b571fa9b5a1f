"""`gpudoctor ticket`, run for real."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gpudoctor.cli.formats import TicketFormat
from tests.cli.command import GPUDOCTOR, LOOK, ROOT, document, environment, run, sentence
from tests.read import texts

TOKEN = "hf_" + "A1b2C3d4E5f6G7h8I9j0"


def verdict_and_findings(report: dict[str, object]) -> tuple[object, list[object]]:
    findings = report["findings"]
    assert isinstance(findings, list)
    return report["verdict"], [(finding["id"], finding["severity"], finding["because_of"]) for finding in findings]


@pytest.mark.parametrize("form", TicketFormat)
def test_a_ticket_about_this_machine_is_diagnosed_like_it(tmp_path: Path, form: TicketFormat) -> None:
    file = str(tmp_path / "ticket")
    done = run("ticket", "--format", form.value, "-o", file)
    assert (done.returncode, done.stdout) == (0, b"")
    assert Path(file).stat().st_mode & 0o777 == 0o600
    again = document("report", run("diagnose", file, "--format", "json").stdout)
    there = document("report", run(*LOOK, "--format", "json").stdout)
    assert verdict_and_findings(again) == verdict_and_findings(there)


def test_a_report_on_standard_input_becomes_a_ticket() -> None:
    report = run(*LOOK, "--format", "json").stdout
    command = (*GPUDOCTOR, "ticket", "-")
    done = subprocess.run(command, input=report, cwd=ROOT, env=environment(), capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\n<summary>JSON report" in done.stdout


def test_a_text_becomes_a_ticket_that_says_what_was_read(tmp_path: Path) -> None:
    (tmp_path / "env.txt").write_text(texts.COLLECT_ENV)
    done = run("ticket", str(tmp_path / "env.txt"))
    assert done.returncode == 0
    assert "Read from the text" in done.stdout.decode()
    assert "torch.utils.collect" in done.stdout.decode()


def test_redactions_are_counted_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(
        f"tcp://rack4-n12:29500 /home/mallory/train.py: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB, HF_TOKEN={TOKEN}\n"
    )
    done = run("ticket", str(tmp_path / "log.txt"), "--show-redactions")
    said = done.stderr.decode()
    assert said.startswith("Redacted: ")
    assert "1 user name" in said
    assert "1 host name" in said
    for secret in ("mallory", "rack4", TOKEN):
        assert secret not in said + done.stdout.decode()


def test_a_home_and_a_token_of_this_machine_are_not_in_a_ticket(tmp_path: Path) -> None:
    home = tmp_path / "home-of-alice"
    (home / "site").mkdir(parents=True)
    env = environment(HOME=str(home), PYTHONPATH=f"{home}/site", LD_LIBRARY_PATH=f"{home}/{TOKEN}")
    for form in TicketFormat:
        written = run("ticket", "--format", form.value, env=env).stdout.decode()
        assert "home-of-alice" not in written
        assert TOKEN not in written


def test_an_interpreter_beside_a_report_is_refused() -> None:
    done = run("ticket", "report.json", "--python", "/usr/bin/python3")
    assert done.returncode == 2
    assert "leave out --python or the report" in sentence(done.stderr)


def test_a_report_that_cannot_be_read_is_one_sentence() -> None:
    done = run("ticket", "/nowhere/report.json", "--format", "json")
    assert done.returncode == 2
    assert "/nowhere/report.json cannot be read" in document("error", done.stdout)["error"]["message"]
