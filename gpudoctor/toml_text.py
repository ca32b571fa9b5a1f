"""Reads TOML, with Python's own parser or, before Python 3.11, with the one that became it."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from gpudoctor.errors import UsageError


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """Return what a text in TOML holds. Raises UsageError, a sentence about `what`, for any other text."""
    tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")  # few commands need it
    try:
        return dict(tomllib.loads(text))
    except RecursionError:
        raise UsageError(f"{what} is nested too deeply.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{what} is not valid TOML: {error}.") from None
    except ValueError:  # of int()
        raise UsageError(f"{what} has a number with thousands of digits.") from None
