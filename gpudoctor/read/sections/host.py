"""The operating system and the Python interpreter that a text describes."""

from __future__ import annotations

import re

from gpudoctor.read.sections.stated import NOT_STATED, Stated
from gpudoctor.snapshot import Host, Missing, Platform, Python

_PLATFORMS = (
    ("microsoft-standard-wsl2", Platform.WSL2),
    ("microsoft", Platform.WINDOWS),
    ("windows", Platform.WINDOWS),
    ("mac", Platform.MACOS),
    ("darwin", Platform.MACOS),
)


def host(stated: Stated) -> Host:
    """Return the operating system; Linux if the text names one and none of the others."""
    words = " ".join(one.value for one in (stated.get("os"), stated.get("kernel platform")) if one).lower()
    platform = next((platform for word, platform in _PLATFORMS if word in words), Platform.LINUX if words else NOT_STATED)
    architecture = re.search(r"x86_64|aarch64|arm64|amd64", words)
    return Host(platform=platform, architecture=architecture[0].replace("amd64", "x86_64") if architecture else NOT_STATED)


def python(stated: Stated) -> Python | Missing:
    """Return the interpreter that the text names."""
    version, bits = stated.get("python"), stated.get("bits")
    if version is None:
        return NOT_STATED
    return Python(
        executable="python",
        why=version.where,
        version=version.value,
        bits=int(bits.value) if bits else NOT_STATED,
        implementation="cpython",
    )
