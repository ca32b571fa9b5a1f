"""Words, numbers and letters."""

# ruff: noqa: RUF001 -- typography is what is tested
from __future__ import annotations

import pytest

from gpudoctor.findings import Rung, RungState, Severity, Verdict
from gpudoctor.report import words


def test_every_word_has_its_mark() -> None:
    assert set(words.VERDICT_MARKS) == {word.value for word in Verdict}
    assert set(words.STATE_MARKS) == {word.value for word in RungState}
    assert set(words.STAGE_NAMES) == {word.value for word in Rung}
    assert set(words.SEVERITY_STYLES) == {word.value for word in Severity}
    for mark in (*words.VERDICT_MARKS.values(), *words.STATE_MARKS.values()):
        assert mark.ascii.isascii()
        assert mark.word


@pytest.mark.parametrize(
    ("text", "shown", "plain"),
    [
        ("a\tb\nc", "a\\tb c", "a\\tb c"),
        ("\x1b[31m", "\\x1b[31m", "\\x1b[31m"),
        ("8 × 80 GB – “ok”…", "8 × 80 GB – “ok”…", '8 x 80 GB - "ok"...'),
        ("é 語", "é 語", "\\xe9 \\u8a9e"),
        ("\udcff", "\\udcff", "\\udcff"),
        ("\u202eevil", "\\u202eevil", "\\u202eevil"),
    ],
)
def test_printable(text: str, shown: str, plain: str) -> None:
    assert words.printable_text(text, plain=False) == shown
    assert words.printable_text(text, plain=True) == plain


@pytest.mark.parametrize(
    ("phrase", "beginning"),
    [("jax 0.4.30 was not checked", "jax 0.4.30"), ("two GPUs are slow", "Two GPUs"), ("all 3 machines are ready", "All 3"), ("", "")],
)
def test_a_sentence_begins_with_a_capital_but_for_a_package(phrase: str, beginning: str) -> None:
    assert words.capitalised(phrase).startswith(beginning)
