"""The C library that a wheel's tags accept (PEP 600, 656)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpudoctor import versions
from gpudoctor.snapshot import Distribution
from gpudoctor.versions import Version

_GLIBC_OF_OLD_TAGS = {"manylinux1": Version(2, 5), "manylinux2010": Version(2, 12), "manylinux2014": Version(2, 17)}
"""The glibc that the tags older than PEP 600 stand for (PEP 513, 571, 599)."""


def wheel_tags(wheel: Distribution) -> tuple[str, ...]:
    """Return a wheel's tags; () if they are unknown."""
    return wheel.tags if isinstance(wheel.tags, tuple) else ()


def other_python_of_wheel(wheel: Distribution, python: str) -> str:
    """Return the Python that a wheel's code is compiled for ("3.11") if that is not `python`, the one that runs; "" if it runs or is unknown."""
    running = versions.parse_version(python)
    found = wheel.interpreters if isinstance(wheel.interpreters, tuple) else ()
    compiled = [versions.parse_version(f"{tag[1]}.{tag[2]}") if tag else None for tag in map(_COMPILED_TAG.fullmatch, found)]
    others = [version for version in compiled if version is not None]
    if running is None or len(others) < len(found) or running[:2] in {version[:2] for version in others}:
        return ""
    return str(others[0]) if others else ""


_COMPILED_TAG = re.compile(r"cp(\d)(\d+)-cp\d+[a-z]*")
"""A tag of code for one minor version of CPython; abi3 suits later ones too."""


def oldest_glibc(tags: Iterable[str]) -> Version | None:
    """Return the oldest glibc that tags such as manylinux_2_28_x86_64 accept; None if none names one."""
    return min((version for tag in tags if (version := _glibc_of_tag(tag))), default=None)


def newest_glibc(tags: Iterable[str]) -> Version | None:
    """Return the newest glibc that a tag names; None if none names one."""
    return max((version for tag in tags if (version := _glibc_of_tag(tag))), default=None)


def installed_glibc(libc: str) -> Version | None:
    """Return the version of "glibc 2.36"; None for another C library."""
    return versions.parse_version(libc.removeprefix("glibc ")) if libc.startswith("glibc ") else None


def is_accepted(tags: Iterable[str], libc: str) -> bool:
    """Return whether a wheel with these tags suits a C library: "glibc 2.36", "musl"; one without a tag for either suits any."""
    known = [tag for tag in tags if tag.startswith(("manylinux", "musllinux"))]
    installed, needed = installed_glibc(libc), oldest_glibc(known)
    if installed is None:
        return not known or any(tag.startswith("musllinux") for tag in known)
    return not known or (needed is not None and needed <= installed)


def _glibc_of_tag(tag: str) -> Version | None:
    found = re.match(r"manylinux_(\d+)_(\d+)(?:_|$)", tag)
    return Version(int(found[1]), int(found[2])) if found else _GLIBC_OF_OLD_TAGS.get(tag.partition("_")[0])
