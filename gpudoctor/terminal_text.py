"""Text that no terminal obeys."""

from __future__ import annotations


def escaped_text(text: str) -> str:
    """Return the text with each letter that is not printable, such as an escape or a change of direction, written out."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else _escaped_letter(letter) for letter in text)


def _escaped_letter(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
