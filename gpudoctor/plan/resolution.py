"""What is asked of the resolver, and its answers."""

from __future__ import annotations

import msgspec

from gpudoctor.report.plan import Plan


class ResolverRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to resolve, for which interpreter and platform."""

    requirements: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    python: str = ""
    platform: str = ""
    """As the tables call it."""
    system: str = ""
    """The version of glibc or macOS that wheels may need; empty on Windows."""
    backend: str = ""
    """uv's --torch-backend."""
    left_out: tuple[str, ...] = ()
    """Packages that the resolver is to pass over, with what they require."""


class ResolvedPackage(msgspec.Struct, frozen=True):
    """One package of a resolution."""

    name: str
    version: str
    pure: bool
    """Whether its wheel has no compiled code."""
    size: int
    """Bytes to download; 0 if unknown."""


class Resolution(msgspec.Struct, frozen=True):
    """What uv would install."""

    packages: tuple[ResolvedPackage, ...]
    lock: str
    """The text of pylock.toml."""


class ResolverConflict(msgspec.Struct, frozen=True):
    """No set of releases satisfies the requirements."""

    sentence: str
    """uv's reason."""
    sources: tuple[str, ...] = ()
    """The packages among its reasons that have no wheel, only a source that nobody built."""


class ResolverUnavailable(msgspec.Struct, frozen=True):
    """uv did not answer."""

    sentence: str


ResolverAnswer = Resolution | ResolverConflict | ResolverUnavailable


class ConfirmedPlan(msgspec.Struct, frozen=True):
    """A plan, and the lock file that uv wrote for it; without one it is from the tables alone."""

    plan: Plan
    lock: str = ""
