"""COLUMNS sets the width of everything, in a terminal and in a pipe."""

from __future__ import annotations

import pytest

from gpudoctor.cli import width
from tests.cli.command import environment, run

PAGES = [("check", "--help"), (), ("rules",), ("explain", "CUDA error 803"), ("matrix", "gpu", "h100"), ("xray", "/bin/sh")]


@pytest.mark.parametrize("arguments", PAGES, ids=lambda arguments: " ".join(arguments) or "nothing")
def test_columns_bounds_every_page(arguments: tuple[str, ...]) -> None:
    lengths = []
    for columns in (60, 80, 130):
        lines = run(*arguments, env=environment(COLUMNS=str(columns))).stdout.decode().splitlines()
        assert max(len(line) for line in lines if "/" not in line) <= columns
        lengths.append(len(lines))
    assert lengths == sorted(lengths, reverse=True)


def test_help_is_as_wide_as_columns_asks_for() -> None:
    lines = run("check", "--help", env=environment(COLUMNS="130")).stdout.decode().splitlines()
    assert max(map(len, lines)) > width.READABLE_COLUMNS


@pytest.mark.parametrize(
    ("columns", "asked"), [("120", 120), ("7", 40), ("0", None), ("", None), ("wide", None), ("-5", None), ("٣", None), ("9" * 5000, None)]
)
def test_what_columns_asks_for(columns: str, asked: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width.requested_width() == asked
    assert width.terminal_width(-1) == (asked or 80)
