"""Every reader on mutations of every text: it reads or leaves it, and no rule crashes on what it states."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import lines_of
from gpudoctor.read.readers import READERS, Reader
from tests.read.corpus import TEXTS
from tests.read.mangled import mangled
from tests.read.reading import is_read_or_refused

MUTATED = st.sampled_from(TEXTS).flatmap(mangled)
PATIENT = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("reader", [one for one in READERS if one.blocks], ids=lambda reader: reader.name)
@PATIENT
@given(text=MUTATED)
def test_a_reader_of_blocks_reads_or_leaves_any_text(reader: Reader, text: str) -> None:
    lines = lines_of(text.encode(), "pasted.txt")
    assert reader.blocks is not None
    numbers = {line.number for line in lines}
    assert {block.line for block in reader.blocks(lines)} <= numbers


@pytest.mark.parametrize("reader", [one for one in READERS if one.cues], ids=lambda reader: reader.name)
@PATIENT
@given(text=MUTATED)
def test_a_reader_finds_nothing_in_a_text_without_its_cues(reader: Reader, text: str) -> None:
    lines = lines_of(text.encode(), "pasted.txt")
    assert reader.blocks is not None
    if not any(cue in line.text.lower() for cue in reader.cues for line in lines):
        assert list(reader.blocks(lines)) == []


@PATIENT
@given(text=MUTATED)
def test_any_mutated_text_is_diagnosed_or_refused(text: str, matrix: Matrix) -> None:
    assert is_read_or_refused(text, matrix)
