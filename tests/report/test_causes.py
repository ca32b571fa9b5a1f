"""The steps of a root cause in the terminal's report."""

from __future__ import annotations

import pytest

from gpudoctor.findings import FixKind
from gpudoctor.report.causes import _shown_commands
from gpudoctor.report.fixes import FixStep
from gpudoctor.report.page import Page, PageLook

BOTH = ("nvidia-smi -q -i 0", "nvidia-smi -q -i 1")


@pytest.mark.parametrize(
    ("kind", "commands", "verbose", "shown"),
    [
        (FixKind.CHECK, BOTH, False, BOTH[:1]),
        (FixKind.CHECK, BOTH, True, BOTH),
        (FixKind.CHECK, BOTH[:1], False, BOTH[:1]),
        (FixKind.FIX, BOTH, False, BOTH),
    ],
)
def test_a_check_of_one_gpu_stands_for_those_of_the_others(
    kind: FixKind, commands: tuple[str, ...], verbose: bool, shown: tuple[str, ...]
) -> None:
    page = Page(PageLook(verbose=verbose))
    assert _shown_commands(page, FixStep(lead="Check", title="Read its state", commands=commands, verify="", kind=kind)) == shown
    assert page.shortened is (shown != commands)
