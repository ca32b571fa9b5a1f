"""Our own code crashes: each function that a command calls raises an exception, one at a time.

The functions are found by recording the calls of commands, so a new probe, derived fact or part of a report is covered by itself. The command must say
that gpudoctor crashed, with exit code 4 and without a traceback. What a check observed must still be reported, except where nothing can be: before the
look, in what writes, and in what removes secrets, since no report may be written with them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from scripts.torture_parts.cell import Case, Result, Workplace
from scripts.torture_parts.commands import COMMANDS, VOLATILE, Place
from scripts.torture_parts.defect import PLANTED
from scripts.torture_parts.patient import check_of, patient
from tests.seams import Cuda, Nvml, PciCard, Tree, environ_with, seen_by_child

DEFECT: Final = str(Path(__file__).parent / "defect.py")
LIMIT: Final = 20.0
OTHER_LIMIT: Final = 120.0
"""Seconds for another command, which has no limit of its own."""
SAMPLE: Final = 40
"""In a short torture one function in so many is tried."""
CERTAIN: Final = ("gpudoctor.probe", "gpudoctor.derive", "gpudoctor.diagnose", "gpudoctor.report", "gpudoctor.frameworks", "gpudoctor.findings", "gpudoctor.matrix")  # fmt: skip
"""Packages whose defects cost a part of the report."""
_BY_REASON: Final[Mapping[str, tuple[str, ...]]] = {
    "it is the guard of the others": ("gpudoctor.probe.crash_guard:result_or_gap", "gpudoctor.report.build:build_report"),
    "no report is written with names and secrets in it": ("gpudoctor.probe.identity:", "gpudoctor.probe.files:"),
    "it runs in the import of the tables of frameworks": (
        "gpudoctor.frameworks.spec:Names.",
        "gpudoctor.frameworks.spec:FrameworkSpec.one_build",
    ),
    "no table can be read": (
        "gpudoctor.matrix_files:open_matrix",
        "gpudoctor.matrix_files:shipped_tables",
        "gpudoctor.matrix.lookup:Matrix.__init__",
    ),
}
LOST: Final = tuple(name for names in _BY_REASON.values() for name in names)
"""Functions, or all of a module, whose defect costs the report."""
FIRST: Final = "gpudoctor.__main__:main"
"""The function that makes a sentence of every other crash; above it is only the script that pip made."""


OTHERS: Final = tuple(words for name, words in COMMANDS.items() if name not in {"check", "mcp", "nothing"} and "-" not in words)
"""The commands that are no checks and need no standard input."""


@dataclass(frozen=True)
class Check:
    """A check, or another command, and its environment."""

    arguments: Sequence[str]
    environ: Mapping[str, str]
    keeps: bool = True
    """Whether a defect costs a part of the report only; the other commands observe nothing that could be kept."""

    @property
    def exits(self) -> Collection[int]:
        """The exit codes where a defect is told of: that of a ticket is 0 once it is written, whatever it says."""
        return {0, 1, 4} if "ticket" in self.arguments else {1, 4}


def checks(workplace: Workplace) -> Iterator[Check]:
    """Yield a check of two GPUs, and one of a Python environment; both find nothing wrong with them."""
    nvml = Nvml(gpus=2)
    tree = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver=nvml.driver).build(workplace.folder / "tree")
    shims = environ_with(nvml, Cuda(gpus=nvml.gpus), directory=workplace.folder / "shims", base=workplace.environ)
    yield Check(("check", "--node"), seen_by_child(tree, shims))
    bare = Tree().build(workplace.folder / "bare")
    yield Check((*check_of(patient(workplace.folder / "patient"), bare, "--no-smoke")[1:],), workplace.environ)


def others(workplace: Workplace) -> Iterator[Check]:
    """Yield the other commands."""
    place = Place(workplace)
    for command in OTHERS:
        yield Check(tuple(word.format(**place.words) for word in command), place.environ, keeps=False)


def of_others(workplace: Workplace) -> Iterator[Case]:
    """Yield each function on the first of the other commands that calls it; none in a short torture: recording their calls takes a minute."""
    return iter(()) if workplace.short else cells(workplace, others)


def cells(workplace: Workplace, commands: Callable[[Workplace], Iterator[Check]] = checks) -> Iterator[Case]:
    """Yield each function on the first check that calls it."""
    met: set[str] = set()
    for number, check in enumerate(commands(workplace)):
        calls = workplace.folder / f"calls-{number}"
        usual = _run(workplace, check, calls, "--called", str(calls)).stdout
        names = [name for name in calls.read_text().split() if name not in met and _chosen(name, workplace)]
        met.update(names)
        for name in names[:: SAMPLE if workplace.short else 1]:
            module, _, function = name.partition(":")
            yield Case(module, f"defect in {function}", partial(run, workplace, check, name, usual), ".".join(module.split(".")[:2]))


def _chosen(name: str, workplace: Workplace) -> bool:
    return not workplace.only or name.startswith(workplace.only)


def _run(workplace: Workplace, check: Check, file: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    arguments = [word for word in check.arguments if word not in {"--format", "json"}]
    command = (sys.executable, DEFECT, *words, *arguments, *(("--json", f"{file}.json") if check.keeps else ()))
    limit = LIMIT if check.keeps else OTHER_LIMIT
    return subprocess.run(command, env=check.environ, capture_output=True, timeout=workplace.patience(limit), check=False)


def run(workplace: Workplace, check: Check, name: str, usual: bytes) -> Result:
    """Return what a check, or another command, says that has a defect in a function of ours, and without it says what is usual."""
    file = workplace.folder / name.replace(":", "-").replace("<", "")
    try:
        done = _run(workplace, check, file, name)
    except subprocess.TimeoutExpired:
        return Result("still runs")
    said, report = done.stdout + done.stderr, _report(Path(f"{file}.json"))
    result = Result("", done.returncode, str(report.get("verdict", "")))
    result = result.but("a traceback" if b"Traceback" in done.stderr and name != FIRST else "")
    result = result.but("" if done.returncode in check.exits or PLANTED not in f"{said!r}{report}" else f"exit code {done.returncode}")
    if not check.keeps:
        return result.but("another answer, without a word" if done.returncode in {0, 3} and _differs(usual, said) else "")
    if not name.startswith(CERTAIN) or name.startswith(LOST):
        return result
    seen = bool(report) or b"READY" in said or b"UNKNOWN" in said or b"BROKEN" in said
    return result.but("" if seen else f"the report is lost: {done.stderr.decode()[-200:]}")


def _differs(usual: bytes, said: bytes) -> bool:
    """Return whether an answer is another one than usual and does not say that gpudoctor crashed."""
    return PLANTED.encode() not in said and VOLATILE.sub(b"", usual) not in VOLATILE.sub(b"", said)


def _report(file: Path) -> Mapping[str, object]:
    try:
        return dict(json.loads(file.read_bytes()))
    except (OSError, ValueError):
        return {}
