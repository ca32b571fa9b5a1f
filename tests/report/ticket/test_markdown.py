"""What a ticket in Markdown leaves out as the machine has more to say."""

from __future__ import annotations

import random
import re
import string
from typing import NamedTuple

import msgspec
import pytest

from gpudoctor.report.build import build_report
from gpudoctor.report.ticket import markdown
from tests.report.ticket.tickets import of_machine

STEPS = (
    ("plain", True, True),
    ("packed", True, True),
    ("packed", False, True),
    ("packed", False, False),
    ("nothing", False, False),
)
"""How the JSON report is held, whether the facts are shown, and whether lists are as long as they can be; in the order in which a ticket gives these up."""


class Shown(NamedTuple):
    """What a ticket about a machine with remarks shows."""

    report: str
    facts: bool
    remarks: int
    letters: int
    """Of the longest remark."""


def ticket(machine: str, count: int, letters: int) -> Shown:
    """Return what the ticket shows of a machine with so many remarks, which no compression shortens; what is missing is counted."""
    chance, seen = random.Random(count), of_machine(machine)
    remarks = tuple("".join(chance.choices(string.ascii_lowercase, k=letters)) for _ in range(count))
    talkative = msgspec.structs.replace(seen, snapshot=msgspec.structs.replace(seen.snapshot, remarks=remarks))
    text = markdown.render(build_report(talkative, "ticket"), {})
    shown = re.findall(r"^- ([a-z]{40,})(…?)$", text, re.MULTILINE)
    for whole, (begin, sign) in zip(remarks, shown, strict=False):
        assert whole.startswith(begin)
        assert (sign == "…") is (begin != whole)
    missing = re.search(r"^- [a-z]{40,}…?\n\n… (\d+) more$", text, re.MULTILINE)
    assert len(shown) + (int(missing[1]) if missing else 0) == count
    held = "packed" if "BEGIN GPUDOCTOR REPORT" in text else "plain" if '{"schema"' in text else "nothing"
    assert ("too long for a tracker" in text) is (held == "nothing")
    return Shown(held, "<summary>Observed" in text, len(shown), len(shown[0][0]))


@pytest.mark.parametrize(
    ("machine", "letters", "counts"),
    [
        ("driver-470-tensorflow-cuda-12", 40, (1, 50, 300, 500, 600, 700, 1000, 1500, 2000)),
        ("driver-470-tensorflow-cuda-12", 2500, (1, 8, 10, 12, 15, 20, 25, 30)),
        ("eight-one-lost", 40, (1, 50, 300, 400, 500, 600, 700, 1000, 1500)),
    ],
)
def test_a_long_ticket_gives_up_first_what_a_reader_misses_least(machine: str, letters: int, counts: tuple[int, ...]) -> None:
    tickets = [ticket(machine, count, letters) for count in counts]
    longest = max(shown.letters for shown in tickets)
    steps = [
        STEPS.index((shown.report, shown.facts, shown.remarks == count and shown.letters == longest))
        for count, shown in zip(counts, tickets, strict=True)
    ]
    assert steps == sorted(steps)
    assert {1, 3, 4} <= {*steps}
    assert longest >= min(letters, 1000)
    assert all(shown.remarks > 5 or shown.remarks == count for count, shown in zip(counts, tickets, strict=True))
    assert [shown.letters for shown in tickets] == sorted((shown.letters for shown in tickets), reverse=True)
