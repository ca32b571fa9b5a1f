"""The words and marks of the reports: verdicts, states, rungs, and text that any terminal can show."""

# ruff: noqa: RUF001, RUF002 -- typography is its subject
from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gpudoctor.findings import FixKind, Rung, RungState, Severity, Verdict


class Mark(msgspec.Struct, frozen=True):
    """A sign with its spelling where only ASCII can be written, and its colour. A word always stands beside it."""

    sign: str
    ascii: str
    style: str
    word: str


VERDICTS = {
    Verdict.READY.value: Mark("✓", "OK", "bold green", "this environment can train"),
    Verdict.DEGRADED.value: Mark("!", "!", "bold yellow", "this environment can train, but slower, at risk or not for long"),
    Verdict.UNKNOWN.value: Mark("?", "?", "bold yellow", "whether this environment can train was not shown"),
    Verdict.BROKEN.value: Mark("✗", "X", "bold red", "this environment cannot train here"),
}
SEVERITIES = {Severity.ERROR.value: "bold red", Severity.WARNING.value: "bold yellow", Severity.NOTE.value: "bold cyan"}
FIXES = {
    FixKind.CHECK.value: "Check: ",
    FixKind.FIX.value: "Fix: ",
    FixKind.ELSE.value: "If that fails: ",
    FixKind.INSTEAD.value: "Or instead: ",
}
"""What a fix is headed with, by its kind."""
STATES = {
    RungState.PROVEN.value: Mark("✓", "ok", "green", "proven"),
    RungState.FAILED.value: Mark("✗", "NO", "bold red", "failed"),
    RungState.NOT_SHOWN.value: Mark("?", "?", "yellow", "not shown"),
    RungState.NOT_ASKED.value: Mark("·", ".", "dim", "not tried"),
    RungState.MASKED.value: Mark("hidden", "hidden", "yellow", "hidden by the environment"),
    RungState.NOT_APPLICABLE.value: Mark("–", "-", "dim", "does not apply here"),
}
RUNGS = {
    Rung.SLOT.value: "slot",
    Rung.KERNEL_DRIVER.value: "driver",
    Rung.DEVICE_NODE.value: "node",
    Rung.NVML.value: "NVML",
    Rung.LIBCUDA.value: "libcuda",
    Rung.KERNEL_RAN.value: "kernel",
    Rung.FRAMEWORK.value: "framework",
    Rung.TRAINED.value: "trained",
}
"""Short names that head the ladder's columns."""

_ASCII = str.maketrans(
    {"–": "-", "—": "-", "…": "...", "×": "x", "✓": "ok", "✗": "NO", "·": "-", "“": '"', "”": '"', "‘": "'", "’": "'", "→": "->"}
    | {"≥": ">=", "≤": "<=", "°": " deg ", "µ": "u", "│": "|", "└": "`"}
)


def scope(rung: str | None, gpus: int, of: int) -> str:
    """What was proven, for the report; empty where no GPU is concerned."""
    if rung is None or not gpus:
        return ""
    return f"{Rung(rung).proof} {gpus} of {counted(of, 'GPU')}"


def counted(number: int, what: str) -> str:
    """A number and its noun: 1 GPU, 8 GPUs."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in order, neighbours joined: 0–2, 5."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def printable(text: str, *, plain: bool) -> str:
    """`text` without control characters, which could steer a terminal; in ASCII where `plain`."""
    shown = "".join(letter if letter.isprintable() else _escaped(letter) for letter in text.replace("\n", " "))
    return ascii_only(shown) if plain else shown


def ascii_only(text: str) -> str:
    """`text` in ASCII: common typography by its like, the rest as backslash escapes."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def upper_first(text: str) -> str:
    """A phrase as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def lower_first(sentence: str) -> str:
    """A sentence as part of another: its first letter small, unless its first word is an acronym or a name."""
    word = sentence.partition(" ")[0]
    return sentence if word[1:] != word[1:].lower() else sentence[:1].lower() + sentence[1:]
