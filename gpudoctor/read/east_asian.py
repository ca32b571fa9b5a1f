"""Makes Chinese, Japanese and Korean text readable by word: a space where their letters meet Latin ones, and ASCII's punctuation."""

from __future__ import annotations

from typing import Final

from gpudoctor.expressions import expression

LETTERS: Final = r"\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
"""Kana, Han and Hangul, within a set of characters."""
_LETTER_BOUNDARY: Final = expression(rf"(?<=[{LETTERS}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9)])(?=[{LETTERS}])")
_EAST_ASIAN_LETTER: Final = expression(rf"[{LETTERS}]")
_PUNCTUATION: Final = {
    0xFF0C: ", ",
    0x3001: ", ",
    0x3002: ". ",
    0xFF1A: ": ",
    0xFF1B: "; ",
    0xFF08: " (",
    0xFF09: ")",
    0xFF01: "! ",
    0xFF1F: "? ",
}


def with_word_spaces(line: str) -> str:
    """Return the line with its words apart, as in "安装了 CUDA 10.2, 系统是 Ubuntu"."""
    if line.isascii():
        return line
    line = line.translate(_PUNCTUATION).rstrip()
    return _LETTER_BOUNDARY.sub(" ", line) if _EAST_ASIAN_LETTER.search(line) else line
