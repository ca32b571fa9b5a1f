"""Chinese, Japanese and Korean lines become readable by word, and others stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.read.east_asian import with_word_spaces

LINES = (
    ("\u5b89\u88c5\u4e86CUDA 10.2\u548ccuDNN 7.6", "\u5b89\u88c5\u4e86 CUDA 10.2 \u548c cuDNN 7.6"),
    ("WSL2\u306eUbuntu\u3001GPU", "WSL2 \u306e Ubuntu, GPU"),
    ("\u7cfb\u7edf\uff1aUbuntu\uff0818.04\uff09\u3002", "\u7cfb\u7edf: Ubuntu (18.04)."),
    ("torch\ub97c CUDA\ub85c", "torch \ub97c CUDA \ub85c"),
)
SAME = ("name: GeForce GTX 1080, pci bus id: 0000:01:00.0", "erkennt die GPU nicht, f\u00fcr 2 Tage", "\u5b89\u88c5 CUDA")


@pytest.mark.parametrize(("line", "words"), LINES)
def test_latin_words_stand_apart(line: str, words: str) -> None:
    assert with_word_spaces(line) == words


@pytest.mark.parametrize("line", SAME)
def test_other_lines_stay(line: str) -> None:
    assert with_word_spaces(line) == line


@given(st.text(alphabet="aZ0) .,\u3001\uff0c\u4e2d\u306e"))
def test_once_is_enough_and_nothing_else_changes(line: str) -> None:
    assert with_word_spaces(with_word_spaces(line)) == with_word_spaces(line)
    assert [one for one in with_word_spaces(line) if one in "aZ0\u4e2d\u306e"] == [one for one in line if one in "aZ0\u4e2d\u306e"]
