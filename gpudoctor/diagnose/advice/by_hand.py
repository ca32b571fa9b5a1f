"""The command that checks for each cause by hand; scripts/generate takes it from the cause's page."""

from __future__ import annotations

from collections.abc import Collection
from pkgutil import get_data
from typing import Final

from gpudoctor.expressions import expression
from gpudoctor.frameworks import TRAINED
from gpudoctor.typed_values import from_json

_FRAMEWORK_NAMES: Final = expression(rf"\b(?:{'|'.join(TRAINED)})\b")
_FRAMEWORK_ATTRIBUTES: Final = expression(rf"\b(?:{'|'.join(TRAINED)})\.(?!__)")
"""What only this framework has; every module has `__version__` and `__file__`."""
_MANUAL_CHECKS: Final = from_json(get_data(__package__, "by_hand.json") or b"", dict[str, str])


def manual_check(cause: str, frameworks: Collection[str] = ()) -> str:
    """Return the command that checks for a cause where a text is about these frameworks; empty if the page has none for them."""
    usual = _MANUAL_CHECKS.get(cause, "")
    about = only_framework_named(usual)
    if not about or not frameworks or about in frameworks:
        return usual
    for name in frameworks:
        if of_this := _MANUAL_CHECKS.get(framework_key(cause, name)):
            return of_this
    return "" if _FRAMEWORK_ATTRIBUTES.search(usual) else _FRAMEWORK_NAMES.sub(next(iter(frameworks)), usual)


def framework_key(cause: str, framework: str) -> str:
    """Return under what name the command for one framework is kept."""
    return f"{cause} of {framework}"


def only_framework_named(command: str) -> str:
    """Return the framework that a command is about; empty if it names none or several."""
    named = set(_FRAMEWORK_NAMES.findall(command))
    return named.pop() if len(named) == 1 else ""
