"""One run writes several reports, each whole, in its place, or none of them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gpudoctor.cli.destinations import Destination, report_destinations
from gpudoctor.cli.formats import Format
from gpudoctor.errors import UsageError
from tests.cli.command import LOOK, document, environment, run, sentence

SUPPOSED = ("compat", "torch==2.8.0", "--gpu", "T4", "--driver", "470.57.02")


def several(folder: Path) -> list[str]:
    return [word for form in ("json", "junit", "markdown", "sarif") for word in (f"--{form}", str(folder / f"report.{form}"))]


@pytest.mark.parametrize("command", [LOOK, SUPPOSED], ids=lambda command: str(command[0]))
def test_one_run_several_reports_beside_the_text(command: tuple[str, ...], tmp_path: Path) -> None:
    ended = run(*command, *several(tmp_path), "--quiet")
    alone = run(*command, "--quiet")
    assert (ended.returncode, ended.stderr) == (alone.returncode, b"")
    assert ended.stdout.splitlines()[0] == alone.stdout.splitlines()[0]
    report = document("report", (tmp_path / "report.json").read_bytes())
    assert report["exit_code"] == ended.returncode
    assert report["argv"][-1] == "--quiet"
    assert ET.parse(tmp_path / "report.junit").getroot().tag == "testsuites"
    assert report["verdict"].upper() in (tmp_path / "report.markdown").read_text(encoding="utf-8").splitlines()[0]
    assert json.loads((tmp_path / "report.sarif").read_bytes())["version"] == "2.1.0"
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert len([*tmp_path.iterdir()]) == 4


def test_the_main_report_may_be_in_a_file_and_another_on_standard_output(tmp_path: Path) -> None:
    ended = run(*LOOK, "-o", str(tmp_path / "report.txt"), "--json", "/dev/stdout")
    verdict = document("report", ended.stdout)["verdict"]
    assert verdict.upper() in (tmp_path / "report.txt").read_text(encoding="utf-8").splitlines()[0]
    assert ended.stderr.decode().splitlines()[-1].startswith(verdict.upper())


def test_an_error_is_a_document_where_json_was_to_be_on_standard_output(tmp_path: Path) -> None:
    for wrong in (("--python", str(tmp_path / "none")), ("--level", "deep")):
        ended = run("check", *wrong, "-o", str(tmp_path / "report.txt"), "--json", "-")
        assert document("error", ended.stdout)["exit_code"] == ended.returncode == 2


def test_a_configuration_file_names_places_too(tmp_path: Path) -> None:
    config = tmp_path / "site.toml"
    config.write_text(f'json = "{tmp_path}/a.json"\nsarif = "{tmp_path}/a.sarif"\n')
    run(*LOOK, "--config", str(config), "--sarif", str(tmp_path / "b.sarif"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "b.sarif", "site.toml"]


@pytest.mark.parametrize(
    ("form", "main", "beside", "refusal"),
    [
        (Format.TEXT, None, {Format.JSON: "-"}, "the text report and --json cannot both be written to standard output"),
        (Format.TEXT, "/dev/stdout", {Format.JUNIT: "-"}, "-o /dev/stdout and --junit cannot both be written to standard output"),
        (Format.JSON, "a", {Format.JSON: "./a"}, "-o a and --json cannot both be written to ./a"),
        (Format.TEXT, None, {Format.JSON: "a", Format.SARIF: "../{here}/a"}, "--json and --sarif cannot both be written to"),
    ],
)
def test_two_reports_in_one_place_are_refused(  # noqa: PLR0917 -- four parameters and two fixtures
    form: Format, main: str | None, beside: dict[Format, str], refusal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refused:
        report_destinations(form, main, {other: name.format(here=tmp_path.name) for other, name in beside.items()})
    assert refusal in str(refused.value)


def test_nothing_may_take_everything() -> None:
    found = report_destinations(Format.TEXT, "/dev/null", {Format.JSON: "/dev/null", Format.SARIF: None})
    assert found == (Destination(Format.TEXT, "/dev/null"), Destination(Format.JSON, "/dev/null"))


@pytest.mark.parametrize("command", [LOOK, ("smoke",), SUPPOSED], ids=lambda command: str(command[0]))
def test_a_place_that_takes_no_file_is_said_before_any_work(command: tuple[str, ...], tmp_path: Path) -> None:
    ended = run(*command, "--json", str(tmp_path / "a"), "--sarif", str(tmp_path / "no" / "b"))
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert "is not a folder" in sentence(ended.stderr)
    assert [*tmp_path.iterdir()] == []


def test_a_full_disk_does_not_stop_the_other_reports(tmp_path: Path) -> None:
    ended = run(*LOOK, "--quiet", "--json", "/dev/full", "--sarif", str(tmp_path / "b"))
    assert ended.returncode == 2
    assert "No space left" in sentence(ended.stderr)
    assert ended.stdout
    assert (tmp_path / "b").exists()


def test_no_report_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("precious")
    ended = run(*LOOK, "--markdown", str(tmp_path / "link"))
    assert ended.returncode == 2
    assert "symbolic link" in sentence(ended.stderr)
    assert not (tmp_path / "precious").exists()


class TestOnGitHub:
    def test_a_step_gets_annotations_and_its_summary(self, tmp_path: Path) -> None:
        summary = tmp_path / "summary.md"
        summary.write_text("# What was there\n")
        ended = run(*LOOK, "--quiet", "--format", "github", env=environment(GITHUB_STEP_SUMMARY=str(summary)))
        *annotations, verdict = ended.stdout.decode().splitlines()
        assert annotations
        assert all(line.startswith("::") for line in annotations)
        assert ended.stderr == b""
        told = summary.read_text(encoding="utf-8").splitlines()
        assert told[0] == "# What was there"
        assert told[1].startswith("## ")
        assert verdict.split()[0] in told[1]

    def test_other_formats_leave_the_summary_alone(self, tmp_path: Path) -> None:
        summary = tmp_path / "summary.md"
        run(*LOOK, "--format", "oneline", env=environment(GITHUB_STEP_SUMMARY=str(summary)))
        assert not summary.exists()

    def test_a_summary_that_cannot_be_written_is_said_before_any_work(self, tmp_path: Path) -> None:
        env = environment(GITHUB_STEP_SUMMARY=str(tmp_path / "no" / "summary.md"))
        ended = run(*LOOK, "--format", "github", env=env)
        assert (ended.returncode, ended.stdout) == (2, b"")
        assert "is not a folder" in sentence(ended.stderr)
