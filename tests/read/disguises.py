"""The ways in which lines are changed between a terminal and an issue."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

Disguise: TypeAlias = Callable[[str], str]


def _each(prefix: Callable[[int], str]) -> Disguise:
    """Put something before each line."""
    return lambda text: "".join(f"{prefix(number)}{line}\n" for number, line in enumerate(text.splitlines()))


def _wrapped(width: int) -> Disguise:
    """Wrap between words, as mail programs do, without joining what was apart."""

    def wrap(text: str) -> str:
        return "".join(f"{part}\n" for line in text.splitlines() for part in _parts(line, width))

    return wrap


def _parts(line: str, width: int) -> list[str]:
    """Return the lines that a line becomes; one with a link longer than a line stays."""
    if max(map(len, line.split()), default=width) >= width:
        return [line]
    return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)


def _cut_at_80(text: str) -> str:
    """Break lines at the edge of a terminal, between letters too."""
    return "".join(f"{line[begin : begin + 80]}\n" for line in text.splitlines() for begin in range(0, len(line) or 1, 80))


def _in_a_table(text: str) -> str:
    """Write "key: value" lines as a Markdown table; other lines follow."""
    pairs = [found for line in text.splitlines() if (found := re.fullmatch(r"([A-Z][\w ]{2,40}): (\S[^|]*)", line))]
    rows = "".join(f"| {pair[1]} | {pair[2]} |\n" for pair in pairs)
    rest = [line for line in text.splitlines() if line not in {pair[0] for pair in pairs}]
    return (f"| | |\n| --- | --- |\n{rows}\n" if rows else "") + "".join(f"{line}\n" for line in rest)


PREFIXED: Final[Mapping[str, Disguise]] = {
    "quoted": _each(lambda _: "> "),
    "quoted twice": _each(lambda _: ">> "),
    "quoted in a quotation": _each(lambda _: "> > "),
    "ISO time": _each(lambda number: f"2026-03-0{number % 9 + 1}T10:11:{number % 60:02}.123456Z "),
    "log time": _each(lambda number: f"2026-03-01 10:11:{number % 60:02},{number:03} "),
    "time in brackets": _each(lambda number: f"[2026-03-01 10:11:{number % 60:02}] "),
    "time alone": _each(lambda number: f"10:11:{number % 60:02} "),
    "CRI": _each(lambda _: "2026-03-01T10:11:12.123456789+00:00 stderr F "),
    "torchrun": _each(lambda _: "[rank0]: "),
    "torchrun before 2.3": _each(lambda _: "[default3]:"),
    "mpirun": _each(lambda _: "[1,3]<stderr>:"),
    "srun -l": _each(lambda _: "12: "),
    "Ray": _each(lambda _: "(RayTrainWorker pid=4711, ip=10.0.0.7) "),
    "vLLM": _each(lambda _: "(EngineCore_DP0 pid=4711) "),
    "journald": _each(lambda _: "Mar 01 10:11:12 node-7 train.sh[4711]: "),
    "journald, ISO": _each(lambda _: "2026-03-01T10:11:12+0000 node-7 train.sh[4711]: "),
    "syslog with a number": _each(lambda _: "<4>Mar  1 10:11:12 node-7 python3: "),
    "docker compose": _each(lambda _: "trainer-1  | "),
    "kubectl": _each(lambda _: "[pod/train-abc12/main] "),
    "cat -n": _each(lambda number: f"{number + 1:>6}\t"),
    "editor": _each(lambda number: f"{number + 212:>4} "),
    "grep -n": _each(lambda number: f"{number + 7}:"),
    "list": _each(lambda _: "- "),
    "root prompt": _each(lambda _: "# "),
    "user prompt": _each(lambda _: "$ "),
}
AROUND: Final[Mapping[str, Disguise]] = {
    "after a prompt": lambda text: f"(venv) me@box:~/train$ python train.py\n{text}(venv) me@box:~/train$ \n",
    "wrapped at 72": _wrapped(72),
    "wrapped at 80": _wrapped(80),
    "cut at 80": _cut_at_80,
    "in a table": _in_a_table,
    "in capitals around": lambda text: f"HELP\n\n```text\n{text}```\n<details>\n<summary>more</summary>\n\nnothing\n</details>\n",
    "indented": lambda text: textwrap.indent(text, "        "),
    "with carriage returns": lambda text: text.replace("\n", "\r\n"),
    "with null characters": lambda text: text.replace(" ", " \0"),
    "with right-to-left marks": lambda text: "".join(f"\u202e{line}\u202c\n" for line in text.splitlines()),
    "with a thousand other lines": lambda text: "".join(f"step {n} of the run {n * n}\n" for n in range(1000)) + text,
}
DISGUISES: Final[Mapping[str, Disguise]] = {**PREFIXED, **AROUND}
PAIRS: Final = tuple(
    (outer, inner)
    for outer in ("quoted", "cat -n", "docker compose", "journald", "ISO time")
    for inner in ("quoted", "torchrun", "cat -n", "ISO time", "Ray", "docker compose", "CRI", "wrapped at 72")
    if inner != outer
)
"""One disguise over another: a log that was quoted in a mail."""
