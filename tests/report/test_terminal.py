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
from gpudoctor.report.build import build
from gpudoctor.report.model import LadderRow, Report, Subject
from gpudoctor.report.page import Look
from tests.report import samples

PAGES = Path(__file__).parent / "pages"
LOOKS = {"80": Look(), "60": Look(width=60), "80.ascii": Look(plain=True), "80.colour": Look(colour=True)}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", samples.ALL)
def test_page_is_as_recorded(name: str, look: str) -> None:
    """GPUDOCTOR_RENEW_PAGES=1 writes the pages anew, for the eye; the test then fails, so that no run passes by writing."""
    page = terminal.render(build(samples.ALL[name]), LOOKS[look])
    recorded = PAGES / f"{name}.{look}.txt"
    if os.environ.get("GPUDOCTOR_RENEW_PAGES"):
        recorded.write_text(page, encoding="utf-8")
        pytest.fail("the page was written anew")
    assert page == recorded.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", samples.ALL)
def test_colour_adds_nothing_but_colour(name: str) -> None:
    report = build(samples.ALL[name])
    coloured = terminal.render(report, Look(colour=True))
    assert "\x1b[" in coloured
    assert COLOUR.sub("", coloured) == terminal.render(report, Look())
    assert "\x1b" not in terminal.render(report, Look())


@pytest.mark.parametrize("name", samples.ALL)
@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_only_commands_and_single_words_are_wider_than_the_page(name: str, width: int) -> None:
    report = build(samples.ALL[name])
    commands = {command for finding in report.findings for fix in finding.fixes for command in (fix.command, fix.verify)}
    for line in terminal.render(report, Look(width=width)).splitlines():
        assert len(line) <= width or line.strip() in commands or " " not in line.strip()


def test_commands_stand_alone_and_whole() -> None:
    report = build(samples.mismatch)
    for look in (Look(width=40), Look(width=40, colour=True), Look(plain=True)):
        lines = [COLOUR.sub("", line).strip() for line in terminal.render(report, look).splitlines()]
        for fix in report.findings[0].fixes:
            assert fix.command in lines
            assert not fix.verify or fix.verify in lines


def test_green_is_one_line() -> None:
    assert terminal.render(build(samples.ready)) == "✓ READY: trained on 8 of 8 GPUs\n"


def test_green_says_that_nothing_was_trained() -> None:
    assert terminal.render(build(samples.looked)).startswith(
        "✓ READY: CUDA initialised on 1 of 1 GPU; nothing was trained (--level look)\n"
    )


def test_verdict_and_root_cause_come_first_and_consequences_beneath_their_cause() -> None:
    lines = terminal.render(build(samples.mismatch)).splitlines()
    assert lines[0].startswith("✗ BROKEN")
    assert lines[1].startswith("  GD202 driver-library-mismatch: ")
    beneath = lines.index("  This also explains:")
    assert [line.split()[0] for line in lines[beneath + 1 : beneath + 4]] == ["GD206", "GD102", "GD901"]
    assert "(GPU 0–1)" in lines[beneath + 2]
    assert not any(line.startswith("error: GD206") for line in lines)


def test_alike_gpus_share_a_row_and_the_lost_one_has_its_own() -> None:
    text = terminal.render(build(samples.one_lost))
    assert re.search(r"^  GPU 0–4, 6–7 +✓( +✓){7}$", text, re.MULTILINE)
    assert re.search(r"^  GPU 5 +✓ +✓ +✓ +✗( +·){4}$", text, re.MULTILINE)
    assert "  GPU 5 reached device node; NVML failed (GPU is lost)\n" in text


def test_a_gpu_without_number_goes_by_its_address() -> None:
    report = build(samples.looked)
    row = msgspec.structs.replace(report.ladder[0], index=None, model="", subject=Subject("gpu", "0000:3b:00.0"))
    assert "GPU 0000:3b:00.0 reached libcuda" in terminal.render(_unready(report, (row,)), Look(width=40))


def test_words_that_a_newer_version_uses_are_shown_as_they_are() -> None:
    report = build(samples.one_lost)
    step = msgspec.structs.replace(report.ladder[5].steps[3], state="asleep", rung="firmware")
    row = msgspec.structs.replace(report.ladder[5], steps=(*report.ladder[5].steps[:3], step))
    finding = msgspec.structs.replace(report.findings[0], severity="fatal")
    text = terminal.render(msgspec.structs.replace(report, verdict="doomed", ladder=(row,), findings=(finding,)))
    assert text.startswith("DOOMED:\n")
    assert "firmware asleep" in text
    assert "fatal, likely: GD102" in text


def _unready(report: Report, ladder: tuple[LadderRow, ...]) -> Report:
    return msgspec.structs.replace(report, verdict="unknown", ladder=ladder)


@given(text=st.text(min_size=1), width=st.integers(40, 120), plain=st.booleans())
def test_no_text_steers_the_terminal_or_breaks_the_page(text: str, width: int, plain: bool) -> None:
    report = build(samples.degraded)
    finding = msgspec.structs.replace(report.findings[0], message=text, title=text)
    untold = msgspec.structs.replace(report.could_not_tell[0], reason=text)
    page = terminal.render(msgspec.structs.replace(report, findings=(finding,), could_not_tell=(untold,)), Look(width=width, plain=plain))
    assert all(letter.isprintable() or letter == "\n" for letter in page)
    assert page.isascii() or not plain
    assert "Not checked\n" in page
    page.encode()
