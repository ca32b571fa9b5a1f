"""Every argument and option of every command is given words that nobody expects: bytes that are no text, descriptors, devices, nothing at all.

The arguments are those of the parser, so a new option is covered by itself. A command either takes the word or refuses it, in time and in printable text.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from typer.core import TyperGroup, TyperOption

from gpudoctor.cli.commands import COMMANDS as NAMES
from gpudoctor.cli.commands import program_with_command
from scripts.torture_parts.cell import GPUDOCTOR, Case, Result, Workplace, emptied
from scripts.torture_parts.commands import COMMANDS, LOG, Place

LIMIT: Final = 60.0
"""Seconds; a command takes one at most."""
RIGHT: Final = frozenset({0, 1, 2, 3})
SHORT: Final = 8
CONTROL: Final = re.compile(r"[^\t\n\x20-\x7e\xa0-\U0010ffff]")
"""What may be on a terminal: no escape, and no carriage return."""
DESCRIPTORS: Final = 'exec "$0" "$@" 3<"$LOG" 4<"$FOLDER" 5<>"$PIPE" 6</dev/null 7>"$WRITTEN" 8</dev/zero'
"""A file, a folder, a pipe that never ends, nothing, a file only for writing, and an endless device."""
WORDS: Final[Mapping[str, str]] = {
    "bytes that are no text": os.fsdecode(b"\xff\xfe\x80"),
    "a file whose name is no text": os.fsdecode(b"log\xff.txt"),
    "an empty word": "",
    "a space": " ",
    "escapes": "\x1b]0;title\x07\x1b[2J\r\n\u202e<script>",
    "100,000 characters": "x" * 100_000,
    "5,000 digits": "9" * 5000,
    "5,000 folders": "a/" * 2_000 + "a",
    "brackets": "[" * 5000,
    "a number too large": "1e999",
    "no number": "nan",
    "a negative number": "-1",
    "a list of nothing": ",,,",
    "this folder": ".",
    "a file for writing only": "/proc/self/clear_refs",
    "its own memory": "/proc/self/mem",
    **{f"descriptor {number}": f"/proc/self/fd/{number}" for number in (0, 1, 3, 4, 5, 7, 8, 9, 10)},
    "standard input": "/dev/stdin",
    "the folder of descriptors": "/proc/self/fd",
    "a terminal": "/dev/tty",
    "an endless device": "/dev/zero",
    "a full device": "/dev/full",
}


def parameters() -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each command with each of its options, by name, and with "" if it takes arguments."""
    for name in NAMES:
        for words, command in _leaves((name,), program_with_command(name).commands[name]):
            named = (_option(parameter) for parameter in command.params if not getattr(parameter, "is_flag", False))
            yield from ((words, option) for option in dict.fromkeys(named))


def _leaves(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(command, TyperGroup):
        for name, below in command.commands.items():
            yield from _leaves((*words, name), below)
    else:
        yield words, command


def _option(parameter: object) -> str:
    return parameter.opts[-1] if isinstance(parameter, TyperOption) else ""


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield each parameter with each word; a short run has eight words, each with another parameter."""
    place, known = Place(workplace), tuple(parameters())
    for number, (name, word) in enumerate(WORDS.items()):
        for nth, (command, option) in enumerate(known):
            subject = " ".join((*command, option)).strip()
            chosen = not workplace.short or (number < SHORT and nth == 19 * number % len(known))
            if chosen and (not workplace.only or command[0] in workplace.only):
                yield Case(subject, name, partial(run, place, command, option, word, workplace.folder / f"{nth}-{number}"), name)


def line(place: Place, command: Sequence[str], option: str, word: str) -> list[str]:
    """Return the usual words of a command with one more option, or with other arguments."""
    if not option:
        return [*command, "--", word] if command != ("schema",) else [*command, word]
    usual = next((words for words in COMMANDS.values() if words[: len(command)] == tuple(command)), tuple(command))
    return [*(one.format(**place.words) for one in usual), *((f"{option}={word}",) if option.startswith("--") else (option, word))]


def run(place: Place, command: Sequence[str], option: str, word: str, folder: Path) -> Result:
    """Return what a command says of a word."""
    emptied(folder)
    os.mkfifo(folder / "pipe")
    for name in ("log.txt", os.fsdecode(b"log\xff.txt")):
        (folder / name).write_text(LOG)
    files = {"LOG": folder / "log.txt", "FOLDER": folder, "PIPE": folder / "pipe", "WRITTEN": folder / "written"}
    environ = {**place.environ, "TMPDIR": str(emptied(folder / "temporary")), **{name: str(file) for name, file in files.items()}}
    words = ("sh", "-c", DESCRIPTORS, GPUDOCTOR, *line(place, command, option, word))
    began, limit = time.monotonic(), place.workplace.patience(LIMIT)
    try:
        with (folder / "log.txt").open("rb") as log:
            done = subprocess.run(words, env=environ, stdin=log, capture_output=True, timeout=limit, check=False, cwd=folder)
    except subprocess.TimeoutExpired:
        return Result(f"still runs after {limit:.0f} s", -1)
    result = Result("", done.returncode, seconds=time.monotonic() - began)
    result = result.but("" if done.returncode in RIGHT else f"exit code {done.returncode}: {done.stderr[-300:]!r}")
    result = result.but("a traceback" if b"Traceback" in done.stderr else "")
    result = result.but("exit code 2 without a word" if done.returncode == 2 and not done.stderr else "")
    result = result.but(next((f"prints {said}" for stream in (done.stdout, done.stderr) if (said := _odd(stream))), ""))
    left = [path.name for path in (folder / "temporary").iterdir()]
    return result.but(f"{left[0]} is left" if left else "")


def _odd(said: bytes) -> str:
    """Return what in an output is no printable text, and where; empty if nothing is."""
    try:
        text = said.decode()
    except UnicodeDecodeError as error:
        return f"no UTF-8: {said[max(0, error.start - 60) : error.start + 20]!r}"
    odd = CONTROL.search(text)
    return repr(text[max(0, odd.start() - 60) : odd.end() + 19]) if odd else ""
