"""Lines of a page: wrapped, cut, in columns, and never wider than asked unless a word is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.report.page import Page, PageLook

WORDS = st.lists(st.text("ab", min_size=1, max_size=6), min_size=1, max_size=30)


def page(width: int = 20, **look: bool) -> Page:
    return Page(PageLook(width=width, **look))


@given(WORDS, st.integers(12, 40), st.integers(0, 3), st.integers(0, 3))
def test_a_paragraph_fits_and_loses_no_word(words: list[str], width: int, indent: int, hang: int) -> None:
    made = page(width)
    made.paragraph(" ".join(words), "lead: ", lead_style="bold", indent=indent, hang=hang)
    first, *others = made.render().splitlines()
    assert all(len(line) <= width for line in (first, *others))
    assert first.startswith(" " * indent + "lead:")
    assert all(len(line) - len(line.lstrip()) == indent + hang for line in others)
    assert " ".join([first, *others]).split() == ["lead:", *words]


def test_a_gap_is_one_line_and_none_at_the_top() -> None:
    made = page()
    made.gap()
    made.paragraph("a")
    made.gap()
    made.gap()
    made.heading("b")
    assert made.render() == "a\n\nb\n"


@pytest.mark.parametrize(
    ("text", "indent", "shown"),
    [
        ("x" * 20, 0, "x" * 20),
        ("x" * 21, 0, "x" * 19 + "…"),
        ("x" * 18, 2, "  " + "x" * 18),
        ("x" * 19, 2, "  " + "x" * 17 + "…"),
        ("x" * 18 + " " + "x" * 9, 0, "x" * 18 + "…"),
    ],
)
def test_a_line_is_cut_only_where_it_does_not_fit(text: str, indent: int, shown: str) -> None:
    made = page()
    made.cut(text, indent=indent)
    assert made.render() == f"{shown}\n"
    assert made.shortened is ("…" in shown)
    plain = page(plain=True)
    plain.cut(text, indent=indent)
    assert plain.render().isascii()
    assert len(plain.render()) <= 21
    assert plain.shortened is made.shortened


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        (["abcd", "efgh"], ["OK  abcd · efgh"]),
        (["abcd", "efgh", "ij"], ["OK  abcd · efgh · ij"]),
        (["abcd", "efgh", "ijk"], ["OK  abcd · efgh", "  ijk"]),
        (["a" * 30, "b"], ["OK", "  " + "a" * 30, "  b"]),
        (["a" * 16, "b" * 18, "c"], ["OK  " + "a" * 16, "  " + "b" * 18, "  c"]),
        (["a" * 16, "b" * 14, "c"], ["OK  " + "a" * 16, "  " + "b" * 14 + " · c"]),
        ([], ["OK"]),
    ],
)
def test_parts_are_broken_between_two_of_them(parts: list[str], lines: list[str]) -> None:
    made = page()
    made.parts(parts, "OK  ", hang=2)
    assert made.render().splitlines() == lines


def test_cells_stand_in_their_columns_without_blanks_at_the_end() -> None:
    made = page()
    made.cells([("", 2, ""), ("a", 4, "bold"), ("bc", 5, ""), ("", 3, "")])
    made.cells([("", 2, ""), ("def", 4, "bold"), ("g ", 5, ""), ("h", 3, "")])
    made.cells([("", 2, ""), (" ", 4, "")])
    assert made.render() == "  a   bc\n  def g    h\n\n"


def test_a_command_keeps_its_lines_and_its_length() -> None:
    made = page()
    made.command("x" * 30 + "\n  y", indent=4)
    assert made.render() == f"    {'x' * 30}\n      y\n"


def test_colours_do_not_change_the_text() -> None:
    coloured = page(colour=True)
    coloured.paragraph("text that is long enough to be wrapped", "lead  ", lead_style="bold", indent=2, hang=2)
    assert "\x1b[1mlead  \x1b[0mtext" in coloured.render()
