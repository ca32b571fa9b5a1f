"""Texts that describe two environments: what fails counts, and what works does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.read.comparison_tables import with_failing_column
from gpudoctor.read.statements import Line
from tests.read.test_read import causes

KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
WORKS = "GPU: RTX 3090\ntorch: 2.5.1+cu124\ndriver: 550.90.07\n"
FAILS = "GPU: RTX 5090\ntorch: 2.5.1+cu124\ndriver: 570.124.06\n"
NEW = "gpu-too-new-for-build"


@pytest.mark.parametrize(
    ("works", "fails"),
    [
        ("Works on machine A:", "Fails on machine B:"),
        ("### Working environment", "### Broken environment"),
        ("**Before**", "**After the change of cards**"),
        ("Old workstation (fine)", "New workstation (crashes)"),
        ("Server 1, where it works:", "Server 2, where it does not work:"),
        ("Previously:", "Now:"),
    ],
)
def test_the_environment_that_fails_counts_in_either_order(works: str, fails: str, matrix: Matrix) -> None:
    assert causes(f"{works}\n{WORKS}\n{fails}\n{FAILS}\n{KERNEL}", matrix)[:1] == [NEW]
    assert causes(f"{fails}\n{FAILS}{KERNEL}\n{works}\n{WORKS}", matrix)[:1] == [NEW]


@pytest.mark.parametrize("heading", ["", "Good to know:\n", "It works on my machine.\n", "Before you ask: yes, I rebooted.\n"])
def test_without_a_comparison_nothing_is_dropped(heading: str, matrix: Matrix) -> None:
    assert causes(f"{heading}{FAILS}{KERNEL}", matrix)[:1] == [NEW]


def test_what_only_the_working_side_states_is_kept(matrix: Matrix) -> None:
    """It describes the machine, and the other heading only the error."""
    assert causes(f"Works on the host:\n{FAILS}\nFails in training:\n{KERNEL}", matrix)[:1] == [NEW]


def test_lists_of_versions_in_both_parts_do_not_cancel_each_other(matrix: Matrix) -> None:
    first = "Node 1 (good)\nDriver Version: 550.54.15\ntorch 2.5.1+cu124, is_available True\n"
    second = "Node 2 (broken)\nDriver Version: 470.199.02\ntorch 2.5.1+cu124, is_available False\n"
    assert causes(f"{first}\n{second}", matrix)[:1] == ["driver-too-old"]


_ROWS = (("GPU", "RTX 3090", "RTX 5090"), ("driver", "535.183.01", "575.57.08"), ("torch", "2.5.1+cu124", "2.5.1+cu124"))


def _piped(rows: tuple[tuple[str, ...], ...]) -> str:
    head, *rest = (f"| {' | '.join(row)} |\n" for row in rows)
    return f"{head}|---|---|---|\n{''.join(rest)}"


def _aligned(rows: tuple[tuple[str, ...], ...]) -> str:
    return "".join("".join(cell.ljust(16) for cell in row).rstrip() + "\n" for row in rows)


@pytest.mark.parametrize("write", [_piped, _aligned])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("heads", "outcome", "around"),
    [
        (("works", "fails"), (), ""),
        (("box A", "box B"), ("result", "fine", "no kernel image is available for execution on the device"), ""),
        (("box A", "box B"), ("cuda available", "yes", "no"), ""),
        (("box A", "box B"), (), "It trains on box A, where it works, but box B fails.\n"),
    ],
)
def test_of_a_table_in_columns_the_one_that_fails_counts(
    write: Callable[[tuple[tuple[str, ...], ...]], str],
    *,
    swapped: bool,
    heads: tuple[str, str],
    outcome: tuple[str, ...],
    around: str,
    matrix: Matrix,
) -> None:
    rows = (("" if write is _piped else "machine", *heads), *_ROWS, *((outcome,) if outcome else ()))
    ordered = tuple((row[0], *row[:0:-1]) for row in rows) if swapped else rows
    assert causes(f"{write(ordered)}\n{around}{KERNEL}", matrix)[:1] == [NEW]


@pytest.mark.parametrize("outcome", [(), ("result", "fine", "ok")])
def test_a_table_that_tells_no_difference_is_read_as_it_is(outcome: tuple[str, ...]) -> None:
    lines = [
        Line(number, text) for number, text in enumerate(_piped((("", "a", "b"), *_ROWS, *((outcome,) if outcome else ()))).splitlines(), 1)
    ]
    assert with_failing_column(lines) == lines


def _machines(outcome: tuple[str, str], *, swapped: bool) -> tuple[tuple[str, ...], ...]:
    head, *rest = zip(*_ROWS, ("result", *outcome), strict=True)
    return (head, *(rest[::-1] if swapped else rest))


@pytest.mark.parametrize("write", [_piped, _aligned])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("outcome", [("works", "fails"), ("ok", "no kernel image"), ("yes", "no"), ("\u2705", "\u274c")])
def test_of_a_table_in_rows_the_machine_that_fails_counts(
    write: Callable[[tuple[tuple[str, ...], ...]], str], outcome: tuple[str, str], *, swapped: bool, matrix: Matrix
) -> None:
    assert causes(f"{write(_machines(outcome, swapped=swapped))}\n{KERNEL}", matrix)[:1] == [NEW]


@pytest.mark.parametrize(
    ("fine", "bad"),
    [
        ("- RTX 3090, driver 535.183.01, torch 2.5.1+cu124: works", "- RTX 5090, driver 575.57.08, torch 2.5.1+cu124: fails"),
        ("1) RTX 3090 + torch 2.5.1+cu124 -> ok", "2) RTX 5090 + torch 2.5.1+cu124 -> broken"),
        ("box A (RTX 3090, torch 2.5.1+cu124): fine", "box B (RTX 5090, torch 2.5.1+cu124): crashes"),
    ],
)
def test_of_a_list_the_item_that_fails_counts(fine: str, bad: str, matrix: Matrix) -> None:
    assert causes(f"{fine}\n{bad}\n{KERNEL}", matrix)[:1] == [NEW]
    assert causes(f"{bad}\n{fine}\n{KERNEL}", matrix)[:1] == [NEW]
