"""The terminal report: its exact text, and what holds for any text in it."""

# ruff: noqa: RUF001 -- typography is what is tested
from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.report import terminal
from gpudoctor.report.build import build_report
from gpudoctor.report.model import LadderRow, Report, Subject
from gpudoctor.report.page import PageLook
from tests.report import samples
from tests.report.texts import TEXTS

PAGES = Path(__file__).parent / "pages"
LOOKS = {"80": PageLook(), "60": PageLook(width=60), "80.ascii": PageLook(plain=True), "80.colour": PageLook(colour=True)}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", samples.ALL)
def test_page_is_as_recorded(name: str, look: str) -> None:
    compare(f"{name}.{look}", terminal.render(build_report(samples.ALL[name]), LOOKS[look]))


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_as_recorded(name: str) -> None:
    compare(name, TEXTS[name]())


def compare(name: str, page: str) -> None:
    """GPUDOCTOR_RENEW_PAGES=1 rewrites the pages, to be read; the test then fails, because no run may pass by writing."""
    recorded = PAGES / f"{name}.txt"
    if os.environ.get("GPUDOCTOR_RENEW_PAGES"):
        recorded.write_text(page, encoding="utf-8")
        pytest.fail("the page was rewritten")
    assert page == recorded.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", samples.ALL)
def test_colour_adds_nothing_but_colour(name: str) -> None:
    report = build_report(samples.ALL[name])
    coloured = terminal.render(report, PageLook(colour=True))
    assert "\x1b[" in coloured
    assert COLOUR.sub("", coloured) == terminal.render(report, PageLook())
    assert "\x1b" not in terminal.render(report, PageLook())


@pytest.mark.parametrize("name", samples.ALL)
@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_only_commands_and_single_words_are_wider_than_the_page(name: str, width: int) -> None:
    report = build_report(samples.ALL[name])
    commands = {command for finding in report.findings for fix in finding.fixes for command in (fix.command, fix.verify)}
    for line in terminal.render(report, PageLook(width=width)).splitlines():
        assert len(line) <= width or line.strip() in commands or " " not in line.strip()


def test_commands_stand_alone_and_whole() -> None:
    report = build_report(samples.mismatch)
    for look in (PageLook(width=40), PageLook(width=40, colour=True), PageLook(plain=True)):
        lines = [COLOUR.sub("", line).strip() for line in terminal.render(report, look).splitlines()]
        for fix in report.findings[0].fixes:
            assert fix.command in lines
            assert not fix.verify or fix.verify in lines


def test_ready_says_what_was_proven_and_what_a_deeper_level_adds() -> None:
    lines = terminal.render(build_report(samples.ready)).splitlines()
    assert lines[0] == "✓ READY  8 × NVIDIA H100 80GB HBM3 · driver 550.163.01 (CUDA 12.4)"
    assert lines[1] == "  tensorflow 2.18.0 (CUDA 12.5, cuDNN 9.3) · Python 3.11 (venv)"
    assert " ".join(lines[2:4]) == "  Trained on 8 of 8 GPUs; 1 check passed. --level full would also measure speed   and all-reduce."
    looked = terminal.render(build_report(samples.looked))
    assert "\n  CUDA initialised on 1 of 1 GPU. --level train would train on it.\n" in looked
    assert "\nnote GD704: It is off on GPU 0.\n" in looked


def test_the_fix_follows_the_headline_and_the_summary_and_consequences_their_cause() -> None:
    lines = terminal.render(build_report(samples.mismatch)).splitlines()
    assert lines[0] == "✗ BROKEN GD202  The kernel driver is 535.154.05 and the libraries are"
    assert lines[2] == "  8 × NVIDIA H100 80GB HBM3 · driver 550.163.01 (CUDA 12.4)"
    assert lines[4].startswith("Fix: Reboot, ")
    assert lines[6:9] == ["    sudo reboot", "Verify:", "    nvidia-smi"]
    order = [next(place for place, line in enumerate(lines) if line.startswith(word)) for word in ORDER]
    assert order == sorted(order)
    assert "Also explains: GD206 cuda-init-fails, GD102 gpu-count-mismatch, GD901" in lines
    assert not any(line.startswith("error GD206") for line in lines)


ORDER = ("Fix:", "Verify:", "Or instead:", "Evidence:", "Also explains:", "Stages per GPU", "Not checked", "Verified:", "More:")


def test_a_short_report_shows_three_observations_and_a_full_one_all() -> None:
    report = build_report(samples.mismatch)
    evidence = tuple(msgspec.structs.replace(report.findings[0].evidence[0], what=f"number {number}") for number in range(5))
    long = msgspec.structs.replace(report, findings=(msgspec.structs.replace(report.findings[0], evidence=evidence),))
    assert terminal.render(long).count("number") == 3
    assert terminal.render(long).endswith("; -v shows everything\n")
    assert terminal.render(long, PageLook(verbose=True)).count("number") == 5
    assert "-v" not in terminal.render(long, PageLook(verbose=True))


def test_a_long_message_follows_the_summary_and_its_title_is_the_headline() -> None:
    report = build_report(samples.mismatch)
    long = msgspec.structs.replace(report.findings[0], message="A long story. " * 40)
    lines = terminal.render(msgspec.structs.replace(report, findings=(long,))).splitlines()
    assert lines[0].startswith("✗ BROKEN GD202  The loaded kernel driver and the driver's libraries")
    assert lines[4].startswith("A long story.")


def test_the_same_on_several_gpus_is_one_block_with_the_commands_of_each() -> None:
    report = build_report(samples.one_lost)
    found = report.findings[0]
    lost = tuple(
        msgspec.structs.replace(
            found,
            id=f"GD102:{samples.address(number)}",
            subject=Subject("gpu", samples.address(number)),
            message=f"GPU {number} ({samples.address(number)}) is lost.",
            fixes=(msgspec.structs.replace(found.fixes[0], command=f"sudo nvidia-smi --gpu-reset -i {number}"),),
        )
        for number in (3, 5, 6)
    )
    text = terminal.render(msgspec.structs.replace(report, findings=lost))
    assert text.startswith("✗ BROKEN GD102 (likely)  GPUs 3, 5–6 of 8 cannot train, 5 can: GPU 3\n")
    assert "is lost. The same on GPUs 5–6." in text
    assert text.count("Fix:") == 1
    assert re.findall("gpu-reset -i (.)", text) == ["3", "5", "6"]
    hotter = (lost[0], msgspec.structs.replace(lost[1], message=f"GPU 5 ({samples.address(5)}) is hotter."))
    similar = msgspec.structs.replace(report, findings=hotter)
    assert "is lost. Similarly on GPU 5." in terminal.render(similar)
    assert "is hotter." in terminal.render(similar, PageLook(verbose=True))


def test_equal_gpus_share_a_row_and_the_lost_one_has_its_own() -> None:
    text = terminal.render(build_report(samples.one_lost))
    assert re.search(r"^  GPUs 0–4, 6–7 +✓( +✓){7}$", text, re.MULTILINE)
    assert re.search(r"^  GPU 5 +✓ +✓ +✓ +✗( +·){4}$", text, re.MULTILINE)
    assert "  GPU 5: NVML failed: GPU is lost\n" in text


def test_a_gpu_without_number_goes_by_its_address() -> None:
    report = build_report(samples.looked)
    row = msgspec.structs.replace(report.ladder[0], index=None, model="", subject=Subject("gpu", "0000:3b:00.0"))
    assert "GPU 0000:3b:00.0: passed CUDA" in terminal.render(_unready(report, (row,)), PageLook(width=40))


def test_words_that_a_newer_version_uses_are_shown_as_they_are() -> None:
    report = build_report(samples.one_lost)
    step = msgspec.structs.replace(report.ladder[5].steps[3], state="asleep", rung="firmware")
    row = msgspec.structs.replace(report.ladder[5], steps=(*report.ladder[5].steps[:3], step))
    finding = msgspec.structs.replace(report.findings[0], severity="fatal")
    text = terminal.render(msgspec.structs.replace(report, verdict="doomed", ladder=(row,), findings=(finding,)))
    assert text.startswith("DOOMED GD102 (likely)  NVML counts GPU 5")
    assert "firmware asleep" in text


def _unready(report: Report, ladder: tuple[LadderRow, ...]) -> Report:
    return msgspec.structs.replace(report, verdict="unknown", ladder=ladder)


@given(text=st.text(min_size=1), width=st.integers(40, 120), plain=st.booleans())
def test_no_text_steers_the_terminal_or_breaks_the_page(text: str, width: int, plain: bool) -> None:
    report = build_report(samples.degraded)
    finding = msgspec.structs.replace(report.findings[0], message=text, title=text)
    untold = msgspec.structs.replace(report.could_not_tell[0], reason=text)
    page = terminal.render(
        msgspec.structs.replace(report, findings=(finding,), could_not_tell=(untold,)), PageLook(width=width, plain=plain)
    )
    assert all(letter.isprintable() or letter == "\n" for letter in page)
    assert page.isascii() or not plain
    page.encode()
