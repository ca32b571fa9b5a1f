"""The headline: the verdict's words are true."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.report.build import build_report
from gpudoctor.report.headline import headline_of_report, stop_signal
from tests.report import machines, samples
from tests.seams.every import every

SCOPES = {
    "required-driver-newer": "3 requirements not met",
    "required-framework-missing": "requirement not met",
    "eight-one-lost": "GPU 3 of 8 cannot train, 7 can",
    "bar-missing-and-logged": "1 of 2 GPUs cannot train, 1 can",
    "eight-all-lost-and-cuda-999": "",
    "driver-not-loaded": "",
    "link-half-as-wide": "runs slower",
    "link-with-errors": "at risk",
    "row-remap-waits": "at risk",
    "torch-cpu-beside-tensorflow": "works in part",
    "windows-torch-supposed": "",
}


@pytest.mark.parametrize("name", SCOPES)
def test_what_does_not_work(name: str) -> None:
    assert headline_of_report(machines.report(name)).scope == SCOPES[name]


@every("name", machines.NAMES)
def test_every_headline_has_the_message_of_the_worst_cause_or_why_nothing_is_known(name: str) -> None:
    report = machines.report(name)
    top = headline_of_report(report)
    assert top.mark.word == report.verdict.upper()
    if report.verdict == "unknown":
        assert (top.code, top.text) == ("", report.because)
    elif report.causes:
        assert (top.code, top.text) == (report.causes[0].code, report.causes[0].message)
    else:
        assert (report.verdict, top.text) == ("ready", "")
    if report.verdict == "degraded":
        assert top.scope in {"runs slower", "at risk", "works in part"}


def test_other_gpus_can_train_only_if_they_passed_what_was_asked() -> None:
    report = machines.report("eight-one-lost")
    deeper = msgspec.structs.replace(report, policy=msgspec.structs.replace(report.policy, level="train"))
    assert headline_of_report(deeper).scope == "GPU 3 of 8 cannot train"


def test_a_stopped_check_is_headed_stopped_unless_something_is_broken() -> None:
    report = build_report(samples.interrupted)
    assert stop_signal(report) == "Ctrl-C (SIGINT)"
    assert headline_of_report(report).mark.word == "STOPPED"
    assert headline_of_report(report).text == "by Ctrl-C (SIGINT) before the check was complete; nothing was verified on 1 GPU"
    assert stop_signal(msgspec.structs.replace(report, exit_code=143)) == "SIGTERM"
    broken = msgspec.structs.replace(build_report(samples.mismatch), exit_code=130)
    assert headline_of_report(broken).mark.word == "BROKEN"
    assert stop_signal(build_report(samples.mismatch)) == ""


def test_gpus_of_a_described_machine_pass_nothing() -> None:
    lost = build_report(samples.one_lost)
    described = msgspec.structs.replace(lost, policy=msgspec.structs.replace(lost.policy, level=None))
    assert headline_of_report(lost).scope.endswith("7 can")
    assert headline_of_report(described).scope.endswith("cannot train")
