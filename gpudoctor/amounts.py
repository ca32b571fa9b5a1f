"""Numbers and sizes as people write them, read and written."""

from __future__ import annotations

import re
from decimal import Decimal

from gpudoctor.digits import short_number
from gpudoctor.errors import UsageError


def parse_count(text: str, option: str, most: int = 10**15) -> int:
    """Return a whole number as people write it: 50_000, 50,000, 1e6, 1.5M, 7B. Raises UsageError for any other text."""
    written = re.fullmatch(r"(\d[\d,_]*(?:\.\d+)?(?:e\+?\d{1,2})?)([kmbt]?)", text.strip().lower()[:40])
    value = Decimal(written[1].replace(",", "")).scaleb(3 * " kmbt".index(written[2] or " ")) if written else Decimal(0)
    if written and not 1 <= value <= most:
        raise UsageError(f"{option}: {text[:40]!r} is out of range; it takes 1 to {most:,}.")
    if not written or value % 1:
        raise UsageError(f"{option}: {text[:40]!r} is not a whole number; write it as 50000, 1e6 or 7B.")
    return int(value)


def parse_image_size(text: str | None) -> tuple[int, int] | None:
    """Return the height and width that "224x224" states. Raises UsageError for any other text."""
    if text is None:
        return None
    sides = re.fullmatch(r"(\d{1,9})x(\d{1,9})", text.lower())
    if sides is None:
        raise UsageError(f"{text[:40]!r} is not the size of an image; write height and width as in 224x224.")
    return int(sides[1]), int(sides[2])


def parameter_count_text(count: int) -> str:
    """Return a number of parameters as people write it: "6.74B", "25.6M"."""
    size, letter = next(((size, letter) for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "K")) if count >= size), (1, ""))
    return f"{short_number(count / size)}{letter}"
