"""From an examination to its report."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.examination import Examination
from gpudoctor.findings import Policy
from gpudoctor.report import document
from gpudoctor.report.build import build_report
from gpudoctor.report.model import Report
from gpudoctor.snapshot import Host, Missing, Snapshot
from tests.report import samples


def _with_host(host: Host) -> Examination:
    return msgspec.structs.replace(samples.ready, snapshot=Snapshot(created="2026-11-21T04:00:00Z", host=host))


def test_the_same_observations_and_policy_have_the_same_id() -> None:
    ready = build_report(samples.ready)
    assert build_report(msgspec.structs.replace(samples.ready, timings=())).id == ready.id
    assert build_report(msgspec.structs.replace(samples.ready, policy=Policy(allow_cpu=True))).id != ready.id
    assert build_report(msgspec.structs.replace(samples.ready, snapshot=samples.SNAPSHOT)).id != ready.id
    assert len(ready.id) == 16


def test_a_report_survives_json() -> None:
    for examination in samples.ALL.values():
        report = build_report(examination)
        written = document.encode_document(report)
        assert written.endswith(b"}\n")
        again = msgspec.json.decode(written, type=Report)
        assert (again, again.is_assumed) == (report, report.is_assumed)


def test_exit_code_is_the_processes_own() -> None:
    assert build_report(samples.broken_no_gpu).exit_code == 1
    assert build_report(samples.interrupted).exit_code == 130


def test_a_fix_keeps_its_kind() -> None:
    assert [fix.kind for fix in build_report(samples.broken_no_gpu).findings[0].fixes] == ["fix", "instead"]


def test_every_finding_says_where_its_page_is() -> None:
    assert (
        build_report(samples.broken_no_gpu).findings[0].url
        == "https://github.com/gpudoctor/gpudoctor/blob/main/gpudoctor/diagnose/rules/hardware/no_gpu.md"
    )


def test_outcomes_are_sorted_into_told_and_untold() -> None:
    report = build_report(samples.broken_no_gpu)
    assert [item.code for item in report.could_not_tell] == ["GD203", "GD206"]
    assert report.could_not_tell[0].because_of == ("GD101",)
    assert [item.code for item in report.passed] == ["GD601"]
    assert [item.kind for item in build_report(samples.degraded).could_not_tell] == ["crashed"]


def test_only_a_name_that_was_asked_for_is_written() -> None:
    assert build_report(samples.ready).examined.user == "uid 1000"
    assert build_report(_with_host(Host(uid=0))).examined.user == "root"
    assert build_report(_with_host(Host(uid=1000, username="ada"))).examined.user == "ada"
    assert build_report(_with_host(Host())).examined.user is None


def test_no_interpreter_is_said_with_its_reason() -> None:
    report = build_report(samples.interrupted)
    assert (report.examined.python, report.examined.why) == (None, "stopped by SIGINT")
    assert isinstance(report.snapshot.python, Missing)


def test_times_are_in_seconds_and_rounded() -> None:
    assert build_report(samples.ready).timings[0].seconds == 0.1235


def test_the_verdict_rests_on_root_causes_that_are_no_notes() -> None:
    assert [finding.code for finding in build_report(samples.mismatch).causes] == ["GD202"]
    assert [finding.code for finding in build_report(samples.degraded).causes] == ["GD501"]
    assert build_report(samples.looked).causes == ()


@pytest.mark.parametrize(("name", "code"), [("ready", 4), ("broken_no_gpu", 1)])
def test_a_crash_of_the_report_leaves_the_verdict_and_what_was_observed(name: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    examination = samples.ALL[name]
    monkeypatch.setattr("gpudoctor.report.build._complete_report", lambda *_: 1 / 0)
    report = build_report(examination, "check")
    assert (report.snapshot, report.verdict, report.exit_code) == (examination.snapshot, examination.diagnosis.verdict.value, code)
    assert "gpudoctor crashed in the report: ZeroDivisionError" in report.because


def test_nothing_is_proven_of_a_machine_that_is_only_described() -> None:
    proved = build_report(samples.compat_ready).proved_to
    assert (proved.rung, proved.gpus, proved.text) == (None, 0, "no conflict is known; nothing was tried")
