"""How a rule ends early: a fact it needs is unknown, or the rule does not apply to its subject."""

from __future__ import annotations

from typing import NoReturn, TypeVar

from gpudoctor.findings import Rung
from gpudoctor.snapshot import Cause, Missing

T = TypeVar("T")
NO_GPU = "this machine has no NVIDIA GPU"
NO_PCI_BUS = "this platform does not show its GPUs on a PCI bus"
"""Why a rule does not apply that needs one."""


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
    """End the rule with "not asked": no source states what it needs to know."""
    raise CouldNotTell(Missing(Cause.NOT_STATED, reason), None)


def known(value: T | Missing, rung: Rung | None = None) -> T:
    """Return `value`, or end the rule with "could not tell" where it is missing.

    `rung` is the layer that would have told: a finding that breaks it, or one below, explains the ignorance.
    """
    if isinstance(value, Missing):
        raise CouldNotTell(value, rung)
    return value


def why_absent(value: object, rung: Rung | None = None) -> str:
    """Return why `value` is known not to exist; empty where it is there. Ends the rule where neither is known."""
    if isinstance(value, Missing) and value.cause is Cause.ABSENT:
        return value.reason or "it is not there"
    known(value, rung)
    return ""


def or_none(value: T | Missing, rung: Rung | None = None) -> T | None:
    """Return `value`, or None where it is known not to exist. Ends the rule where neither is known."""
    return None if isinstance(value, Missing) and value.cause is Cause.ABSENT else known(value, rung)


def applicable(value: T | Missing, rung: Rung | None = None) -> T:
    """Return `value`, or end the rule with "not applicable" where it is known not to exist."""
    if isinstance(value, Missing) and value.cause is Cause.ABSENT:
        not_applicable(value.reason)
    return known(value, rung)


def absence(value: object) -> Missing | None:
    """Return why `value` is known not to exist, None where it exists; end the rule with "could not tell" where neither is known."""
    if isinstance(value, Missing) and value.cause is Cause.ABSENT:
        return value
    known(value)
    return None


def offered(value: T | Missing, rung: Rung | None = None) -> T:
    """Return `value`, or end the rule with "not applicable" where this GPU or driver does not offer it."""
    if isinstance(value, Missing) and value.cause is Cause.UNSUPPORTED:
        not_applicable(value.reason)
    return known(value, rung)
