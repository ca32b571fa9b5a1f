"""The first lines of a text report."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.report import terminal
from gpudoctor.report.build import build
from gpudoctor.report.model import NotJudged, Subject
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
    because = "; ".join(f"{one.what}: {one.reason}" for one in unjudged)
    report = msgspec.structs.replace(build(samples.unknown), findings=(), not_judged=unjudged, because=because)
    assert terminal.render(report).splitlines()[0].endswith(told)
