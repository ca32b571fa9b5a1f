"""How a snapshot records a value, where it was read, or why it is missing."""

from __future__ import annotations

import enum
from typing import Literal, TypeGuard

import msgspec


class OpenEnum(str, enum.Enum):
    """Words to which a newer version may add: an unknown word is kept, never an error."""

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        if not isinstance(value, str):
            return None
        member = str.__new__(cls, value)
        member._name_ = member._value_ = value
        return member

    def __str__(self) -> str:
        return str(self.value)


class Cause(OpenEnum):
    """Why a value is missing. Only ABSENT is a fact about the machine; the others are about the observation."""

    ABSENT = "absent"  # looked for and not there
    DENIED = "denied"  # no permission to look
    TIMED_OUT = "timed-out"
    FAILED = "failed"
    UNLOADABLE = "unloadable"  # the library exists, but this process cannot load it: another architecture, or damaged
    UNSUPPORTED = "unsupported"  # the source says it does not offer this
    LOST = "lost"  # it vanished while we looked
    NOT_STATED = "not-stated"  # text and compat: not given
    NOT_ASKED = "not-asked"
    CRASHED = "crashed"  # a defect of ours


def _kebab_case(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


class Observed(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag=_kebab_case):
    """Base of everything in a snapshot: frozen, and tagged with its type to coexist with Missing in a field.

    Omitted fields were not asked for.
    """


class Missing(Observed, frozen=True):
    """A section or field without a value, and why."""

    cause: Cause
    reason: str


def is_absent(value: object) -> TypeGuard[Missing]:
    """Return whether a value is known not to exist."""
    return isinstance(value, Missing) and value.cause is Cause.ABSENT


def is_unasked(value: object) -> TypeGuard[Missing]:
    """Return whether nobody asked for a value, or a text or combination does not state it."""
    return isinstance(value, Missing) and value.cause in {Cause.NOT_ASKED, Cause.NOT_STATED}


class Fact(Observed, frozen=True):
    """A text with the place where it was read."""

    value: str
    where: str


class Supposed(Observed, frozen=True):
    """One assumption of `compat`, which observes nothing and takes what was stated."""

    what: str
    """machine, C library, Python, GPU, driver, system CUDA or system cuDNN."""
    value: str
    where: str
    """The option that stated it, or the source of what was added."""


class Parameter(Observed, frozen=True):
    """A kernel or module setting; one without a value has an empty text."""

    name: str
    value: str


NOT_ASKED = Missing(Cause.NOT_ASKED, "not asked for")

NonFinite = Literal["nan", "inf", "-inf"]
Real = float | NonFinite
"""A number that may be infinite or NaN, which is a finding: JSON has no NaN, and null would hide it."""


def printable_text(text: str) -> str:
    """`text` with undecodable bytes (surrogates, as os.fsdecode makes them) as backslash escapes, safe to write anywhere."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # a surrogate that does not represent a byte
        return text.encode("utf-8", "backslashreplace").decode()


def normalise_address(text: str) -> str | None:
    """A PCI address in Linux's notation (0000:3b:00.0), from any tool's (00000000:3B:00.0, 3b:00.0); None if `text` is not one."""
    place, _, function = text.strip().lower().partition(".")
    parts = place.split(":")
    try:
        slot, bus, domain = (int(part, 16) for part in [*reversed(parts), *["0"] * (3 - len(parts))])
        number = int(function or "0", 16)
    except ValueError:
        return None
    if len(parts) < 2 or not (0 <= slot < 32 and 0 <= bus < 256 and 0 <= domain < 1 << 32 and 0 <= number < 8):
        return None
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{number:x}"
