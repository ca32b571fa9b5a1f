"""The words and marks of reports: verdicts, states, stages, and text that any terminal can show."""

# ruff: noqa: RUF001 -- typography is its subject
from __future__ import annotations

import msgspec

from gpudoctor.findings import Rung, RungState, Severity, Verdict
from gpudoctor.terminal_text import escaped_text


class Mark(msgspec.Struct, frozen=True):
    """A sign with its spelling where only ASCII can be written, and its colour. A word always stands beside it."""

    sign: str
    ascii: str
    style: str
    word: str


VERDICT_MARKS = {
    Verdict.READY.value: Mark("✓", "OK", "bold green", "READY"),
    Verdict.DEGRADED.value: Mark("!", "!", "bold yellow", "DEGRADED"),
    Verdict.UNKNOWN.value: Mark("?", "?", "bold yellow", "UNKNOWN"),
    Verdict.BROKEN.value: Mark("✗", "X", "bold red", "BROKEN"),
}
STOPPED_MARK = Mark("■", "#", "bold yellow", "STOPPED")
"""Instead of the verdict unknown, if a signal stopped the check."""
SEVERITY_STYLES = {Severity.ERROR.value: "bold red", Severity.WARNING.value: "bold yellow", Severity.NOTE.value: "bold cyan"}
STATE_MARKS = {
    RungState.PROVEN.value: Mark("✓", "ok", "green", "passed"),
    RungState.FAILED.value: Mark("✗", "NO", "bold red", "failed"),
    RungState.NOT_SHOWN.value: Mark("?", "?", "yellow", "not verified"),
    RungState.NOT_ASKED.value: Mark("·", ".", "dim", "not tried"),
    RungState.MASKED.value: Mark("h", "h", "yellow", "hidden"),
    RungState.NOT_APPLICABLE.value: Mark("–", "-", "dim", "does not apply"),
}
STAGE_NAMES = {
    Rung.SLOT.value: "PCI",
    Rung.KERNEL_DRIVER.value: "driver",
    Rung.DEVICE_NODE.value: "/dev",
    Rung.NVML.value: "NVML",
    Rung.LIBCUDA.value: "CUDA",
    Rung.KERNEL_RAN.value: "kernel",
    Rung.FRAMEWORK.value: "framework",
    Rung.TRAINED.value: "training",
}
"""What the rungs of the ladder are called to users, who climb none: stages."""

_ASCII_BY_SIGN = str.maketrans(
    {"–": "-", "—": "-", "…": "...", "×": "x", "✓": "ok", "✗": "NO", "·": "|", "“": '"', "”": '"', "‘": "'", "’": "'", "→": "->", "■": "#"}
    | {"≥": ">=", "≤": "<=", "°": "deg ", "µ": "u", "│": "|", "└": "`"}
)


def printable_text(text: str, *, plain: bool) -> str:
    """`text` without control characters, which could steer a terminal; in ASCII where `plain`."""
    shown = escaped_text(text.replace("\n", " "))
    return ascii_text(shown) if plain else shown


def ascii_text(text: str) -> str:
    """`text` in ASCII: common typography by its like, the rest as backslash escapes."""
    return text.translate(_ASCII_BY_SIGN).encode("ascii", "backslashreplace").decode("ascii")


def capitalised(text: str) -> str:
    """A phrase as the beginning of a sentence; the name of a package before its version stays as it is: jax 0.4.30."""
    follows = text.partition(" ")[2]
    return text if follows[:1].isdigit() and "." in follows.partition(" ")[0] else text[:1].upper() + text[1:]
