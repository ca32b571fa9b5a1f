"""How a rule ends early: a fact it needs is unknown, or the rule does not apply to its subject."""

from __future__ import annotations

from typing import NoReturn, TypeVar

from gpudoctor.findings import Rung
from gpudoctor.snapshot import Cause, Missing, is_absent

T = TypeVar("T")
NO_GPU = "this machine has no NVIDIA GPU"
NO_PCI_BUS = "this platform does not show its GPUs on a PCI bus"
"""Why rules that need one do not apply."""


class CouldNotTell(Exception):  # noqa: N818 -- an outcome, not an error
    """Ends a rule for a subject: a fact it needs is unknown."""

    def __init__(self, missing: Missing, rung: Rung | None) -> None:
        super().__init__(missing.reason)
        self.missing = missing
        self.rung = rung
        """The stage whose failure explains the ignorance."""


class NotApplicable(Exception):  # noqa: N818 -- an outcome, not an error
    """Ends a rule for a subject: the rule does not apply to it."""


def not_applicable(reason: str) -> NoReturn:
    """End the rule for this subject: it does not apply."""
    raise NotApplicable(reason)


def not_stated(reason: str) -> NoReturn:
    """End the rule with "not asked": no source states what it needs."""
    raise CouldNotTell(Missing(Cause.NOT_STATED, reason), None)


def require_known(value: T | Missing, rung: Rung | None = None) -> T:
    """`value`; if it is missing, end the rule with "could not tell".

    `rung` is the layer that would have known: a finding that breaks it, or one below, explains why it does not.
    """
    if isinstance(value, Missing):
        raise CouldNotTell(value, rung)
    return value


def known_or_none(value: T | Missing, rung: Rung | None = None) -> T | None:
    """`value`, or None if it is known not to exist. Ends the rule if neither is known."""
    return None if is_absent(value) else require_known(value, rung)


def require_applicable(value: T | Missing, rung: Rung | None = None) -> T:
    """`value`; if it is known not to exist, end the rule with "not applicable"."""
    if is_absent(value):
        not_applicable(value.reason)
    return require_known(value, rung)


def known_absence(value: object, rung: Rung | None = None) -> Missing | None:
    """Why `value` is known not to exist, None if it exists; ends the rule with "could not tell" if neither is known."""
    if is_absent(value):
        return value
    require_known(value, rung)
    return None


def require_offered(value: T | Missing, rung: Rung | None = None) -> T:
    """`value`; if this GPU or driver does not offer it, end the rule with "not applicable"."""
    if isinstance(value, Missing) and value.cause is Cause.UNSUPPORTED:
        not_applicable(value.reason)
    return require_known(value, rung)
