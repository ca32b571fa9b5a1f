"""The first lines of a text report."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Rung, RungState
from gpudoctor.report import terminal
from gpudoctor.report.build import build_report
from gpudoctor.report.model import NotJudged, Step, Subject
from tests.report import samples


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("A", "not everything was checked: A"),
        ("AB", "not everything was checked: A and B"),
        ("ABC", "not everything was checked: A, B and C"),
    ],
)
def test_what_was_not_checked_is_named_if_its_reasons_are_too_long(names: str, told: str) -> None:
    unjudged = tuple(NotJudged(Subject("environment", ""), name, "no table lists it, " * 40) for name in names)
    because = "; ".join(f"{not_judged.what}: {not_judged.reason}" for not_judged in unjudged)
    report = msgspec.structs.replace(build_report(samples.unknown), findings=(), not_judged=unjudged, because=because)
    assert terminal.render(report).splitlines()[0].endswith(told)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ((RungState.PROVEN, RungState.MASKED), " (the rest: detail of kernel driver)"),
        ((RungState.PROVEN, RungState.NOT_APPLICABLE), " (the rest: detail of kernel driver)"),
        ((RungState.NOT_APPLICABLE, RungState.NOT_ASKED), ""),
        ((RungState.PROVEN, RungState.FAILED), ""),
        ((RungState.PROVEN, RungState.MASKED, RungState.PROVEN, RungState.PROVEN, RungState.PROVEN), ""),
    ],
)
def test_why_the_rest_was_not_asked_for(other: tuple[RungState, ...], why: str) -> None:
    """A GPU is left out if it is hidden or another driver has it, and not once CUDA initialised on it."""
    report = build_report(samples.ready)
    steps = tuple(Step(rung.value, state.value, f"detail of {rung.value}") for rung, state in zip(Rung, other, strict=False))
    second = msgspec.structs.replace(report.ladder[0], steps=steps)
    text = terminal.render(msgspec.structs.replace(report, ladder=(report.ladder[0], second)))
    assert (" (the rest: " in text) is bool(why)
    assert why.strip() in " ".join(text.split())
