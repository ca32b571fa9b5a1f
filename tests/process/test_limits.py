"""How much of a child's answer and output is kept."""

from __future__ import annotations

from gpudoctor.process.child import AnswerLines, StreamTail

LINE, LINES, ANSWER, TAIL = 1 << 20, 1 << 17, 16 << 20, 32 << 10


def test_a_line_of_one_mebibyte_is_kept_and_a_longer_one_dropped() -> None:
    lines = AnswerLines()
    assert [len(line) for line in lines.add(b"x" * LINE + b"\n")] == [LINE]
    assert lines.add(b"x" * (LINE + 1) + b"\nnext\n") == [b"next"]


def test_a_long_line_is_dropped_although_it_comes_in_parts() -> None:
    lines = AnswerLines()
    assert lines.add(b"x" * LINE) == []
    assert [len(line) for line in lines.add(b"\n")] == [LINE]
    assert lines.add(b"x" * (LINE + 1)) == []
    assert lines.add(b"its end") == []
    assert lines.add(b"\nnext\nand") == [b"next"]
    assert lines.add(b" more\n") == [b"and more"]


def test_an_answer_with_too_many_lines_is_a_flood() -> None:
    lines = AnswerLines()
    lines.add(b"\n" * LINES)
    assert not lines.flooded
    assert lines.add(b"one more\n") == []
    assert lines.flooded


def test_an_answer_with_too_many_bytes_is_a_flood() -> None:
    lines = AnswerLines()
    for _ in range(ANSWER >> 16):
        lines.add(b"x" * (1 << 16))
    assert not lines.flooded
    lines.add(b"x")
    assert lines.flooded


def test_the_end_of_the_output_is_kept_from_a_whole_word_on() -> None:
    tail = StreamTail()
    tail.add(b"y" * TAIL)
    assert tail.text() == "y" * TAIL
    tail.add(b" and")
    assert tail.text() == "and"
    tail.add(b" x" * TAIL)
    assert tail.text() == "x " * (TAIL // 2 - 1) + "x"
