"""The cues are a shortcut only: with and without them the same forms match."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator

import pytest

from gpudoctor.line_forms import CUES_BY_PATTERN, PART_MARK, LineForms
from gpudoctor.signatures.table import SIGNATURES
from scripts.generated.cues import cues
from tests.matching import drawn
from tests.read import texts
from tests.seams.every import every

PATTERNS = sorted(CUES_BY_PATTERN)
LINES = sorted(
    {line for table in (texts.CASES, texts.DECIDED) for _, text in table for line in text.splitlines()}
    | {line for text in (*texts.HEALTHY, *texts.HARMLESS) for line in text.splitlines()}
    | {line for signature in SIGNATURES for line in signature.lines}
)


FORMS = LineForms(PATTERNS)


def test_cues_hide_no_match() -> None:
    compiled = [re.compile(pattern) for pattern in PATTERNS]
    for line in LINES:
        matching = [place for place, pattern in enumerate(compiled) if pattern.search(line)]
        assert [place for _, place, _ in FORMS.among([line])] == matching, line


def test_cues_hide_no_match_in_another_case() -> None:
    patterns = [signature.pattern for signature in SIGNATURES]
    forms, compiled = LineForms(patterns, re.IGNORECASE), [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
    for line in (line.upper() for signature in SIGNATURES[::5] for line in signature.lines):
        matching = [place for place, pattern in enumerate(compiled) if pattern.search(line)]
        assert [place for _, place, _ in forms.among([line])] == matching, line


def test_where_a_line_may_have_been_wrapped_a_part_of_it_is_touched() -> None:
    for line in LINES:
        words = line.split(" ")
        for place in range(1, len(words)):
            wrapped = [" ".join(words[:place]), " ".join(words[place:])]
            assert FORMS.possible_lines(wrapped) or not list(FORMS.among([line])), wrapped


@pytest.mark.untraced
@every("pattern", PATTERNS)
def test_every_line_that_a_pattern_matches_has_one_of_its_cues(pattern: str) -> None:
    forms = LineForms([pattern])
    for line in matching(pattern, DRAWN):
        assert list(forms.among([line])), line


DRAWN = 8
"""Lines for each pattern, others in each run."""


def matching(pattern: str, count: int) -> Iterator[str]:
    """Yield those of so many drawn lines that the pattern matches."""
    chance = random.Random()
    for _ in range(count):
        line = drawn(pattern, chance).split("\n")[0]
        if re.search(pattern, line):
            yield line


@pytest.mark.untraced
def test_for_nearly_every_pattern_a_line_is_drawn_that_it_matches() -> None:
    assert len([pattern for pattern in PATTERNS if not any(matching(pattern, 40 * DRAWN))]) < len(PATTERNS) / 100


def test_lines_together_match_what_each_matches_alone() -> None:
    forms, text = LineForms(PATTERNS), LINES * 3
    alone = [(number, place) for number, line in enumerate(text) for _, place, _ in forms.among([line])]
    assert [(number, place) for number, place, _ in forms.among(text)] == alone


def test_hardly_a_line_of_unknown_words_may_be_a_part_of_a_known_one() -> None:
    chance = random.Random(1)
    lines = [" ".join("".join(chance.choices(string.ascii_lowercase, k=6)) for _ in range(10)) for _ in range(1000)]
    assert len(FORMS.possible_lines(lines)) < len(lines) / 50


def test_every_pattern_has_a_cue() -> None:
    assert not [pattern for pattern in PATTERNS if (PART_MARK,) in CUES_BY_PATTERN[pattern]]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\bnouveau\b", (("nouveau",),)),
        (r"libcudnn\.so\.\d", (("*libcudnn.so.",),)),
        (r"(?i)Driver Version\s*: *\d", (("*driver version",),)),
        (r"undefined symbol: nccl\w+", (("symbol", "undefined symbol: nccl"),)),
        (r"colou?rs? of", (("*color of",), ("*colors of",), ("*colour of",), ("*colours of",))),
        (r"\bXid\b.{0,9}\bGPU ", (("xid", "gpu "),)),
        (r"[Ff]ailed to dlopen (?:some|all)", (("dlopen", "failed to dlopen all"), ("dlopen", "failed to dlopen some"))),
        (r"(?:ab|cd)*x\w", (("*x",),)),
        (r"\d+ ?(?:MiB|GiB) free\b", (("free", "gib free"), ("free", "mib free"))),
        (r".*", ((PART_MARK,),)),
    ],
)
def test_a_cue_is_a_rare_whole_word_or_else_the_longest_known_part_with_other_parts(
    pattern: str, expected: tuple[tuple[str, ...], ...]
) -> None:
    assert cues(pattern) == expected
