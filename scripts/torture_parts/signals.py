"""gpudoctor is stopped at a random moment: by a signal, a closed standard output, a kill that it cannot handle, or it is frozen for a while.

Afterwards nothing of it runs, the report file holds a whole report or does not exist, the exit code tells what happened, and no temporary folder
is left, or after a SIGKILL none once another check has run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from scripts.torture_parts.cell import CHECK, TIMEOUT, Case, Result, Workplace, emptied, left_process, processes
from scripts.torture_parts.patient import LIMIT, MARK, WAIT, check_of, patient
from tests.seams import Cuda, Nvml, PciCard, Tree, environ_with, seen_by_child

RUNS: Final = {True: 1, False: 28}
"""Runs of each pair of a command and a fault, in a short and a long torture: 504 in the long one."""
FAULTS: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "closed stdout", "frozen")
FROZEN: Final = 5.0
"""Seconds; longer than the check may take in all."""
GONE: Final = 3.0
"""Seconds after which nothing may run any more."""
NEXT: Final = 2.0
"""Seconds for the training after a killed one."""
VERDICTS: Final = frozenset({0, 1, 3})
HALF: Final = "half a report"


@dataclass(frozen=True)
class Command:
    """What is stopped: its words, its environment, and the seconds among which the moment is chosen."""

    words: Sequence[str]
    seconds: float
    environ: Mapping[str, str] = field(default_factory=dict)
    trains: bool = False


def commands(workplace: Workplace) -> dict[str, Command]:
    """Return a check of two GPUs, one of a Python environment, and one that trains and would never end."""
    nvml = Nvml(gpus=2)
    tree = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver=nvml.driver).build(workplace.folder / "tree")
    shims = seen_by_child(tree, environ_with(nvml, Cuda(gpus=nvml.gpus), directory=workplace.folder / "shims", base=workplace.environ))
    bare = Tree().build(workplace.folder / "bare")
    fine, endless = patient(workplace.folder / "fine"), patient(workplace.folder / "endless", on_import=WAIT)
    return {
        "node": Command(CHECK, 0.5, shims),
        "environment": Command(check_of(fine, bare, "--no-smoke"), 0.7, workplace.environ),
        "training": Command(check_of(endless, bare), 2.0, workplace.environ, trains=True),
    }


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield each command with each fault, at moments that are random and the same in every torture."""
    moments = random.Random(14)
    for name, command in commands(workplace).items():
        for fault in FAULTS:
            for number in range(RUNS[workplace.short]):
                moment = moments.uniform(0, command.seconds)
                if not workplace.only or name in workplace.only:
                    folder = workplace.folder / f"{name}-{fault}-{number}".replace(" ", "-")
                    yield Case(name, f"{fault} after {moment:.3f} s", partial(run, workplace, command, fault, moment, folder), fault)


def run(workplace: Workplace, command: Command, fault: str, moment: float, folder: Path) -> Result:
    """Return what a command left that was stopped after `moment` seconds of a quiet machine."""
    for name in ("temporary", "reports"):
        emptied(folder / name)
    report = folder / "reports/report.json"
    pace = workplace.pace.now()
    words = (*command.words, "--timeout", f"{TIMEOUT * pace:.1f}", *(() if fault == "closed stdout" else ("-o", str(report))))
    environ = {**command.environ, MARK: f"{folder}/", "TMPDIR": str(folder / "temporary")}
    began = time.monotonic()
    process = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    time.sleep(moment * pace)
    stop(process, fault, folder, FROZEN * pace)
    try:
        _, said = process.communicate(timeout=LIMIT * pace)
    except subprocess.TimeoutExpired:
        end_all(folder)
        return Result(f"still runs {LIMIT * pace:.0f} s later", seconds=time.monotonic() - began)
    result = Result("", process.returncode, _verdict(report), seconds=time.monotonic() - began)
    result = (
        result.but(HALF if result.verdict == HALF else "")
        .but(_wrong_end(fault, process.returncode, said))
        .but(_left(folder, fault, GONE * pace))
    )
    return result.but(_next_run(workplace, command, environ, folder)) if fault == "SIGKILL" and command.trains else result


def stop(process: subprocess.Popen[bytes], fault: str, folder: Path, frozen: float) -> None:
    """Do to a process what the fault says."""
    if fault == "closed stdout":
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
    elif fault == "frozen":
        tell(family(folder), signal.SIGSTOP)
        time.sleep(frozen)
        tell(family(folder), signal.SIGCONT)
    else:
        process.send_signal(getattr(signal, fault))


def tell(pids: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to processes, some of which may have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def family(folder: Path) -> list[int]:
    """Return the processes of a cell."""
    return processes(f"{MARK}={folder}/")


def end_all(folder: Path) -> None:
    """Kill the processes of a cell that does not end."""
    tell(family(folder), signal.SIGKILL)


def _verdict(report: Path) -> str:
    """Return the verdict in a report file; empty without one, "half a report" if it is not whole."""
    try:
        return str(json.loads(report.read_bytes())["verdict"])
    except FileNotFoundError:
        return ""
    except (ValueError, KeyError):
        return HALF


def _wrong_end(fault: str, code: int, said: bytes) -> str:
    """Return what is wrong with the exit code and standard error; a signal may also come before gpudoctor handles it, or after the verdict."""
    number = getattr(signal, fault, None)
    right = VERDICTS if number is None else {*VERDICTS, 128 + number, -number}
    if code not in right:
        return f"exit code {code}: {os.fsdecode(said[-200:])}"
    return "a traceback" if b"Traceback" in said and b"gpudoctor/" in said else ""


def _left(folder: Path, fault: str, seconds: float) -> str:
    """Return which process or file is left; empty if none is."""
    until = time.monotonic() + seconds
    while (process := left_process(f"{MARK}={folder}/")) and time.monotonic() < until:
        time.sleep(0.05)
    if process:
        end_all(folder)
        return process
    names = [path.name for path in (folder / "reports").iterdir() if path.name != "report.json"]
    names += [] if fault == "SIGKILL" else [path.name for path in (folder / "temporary").iterdir()]
    return f"{names[0]} is left" if names else ""


def _next_run(workplace: Workplace, command: Command, environ: Mapping[str, str], folder: Path) -> str:
    """Return what another training leaves of a killed one's temporary folder."""
    words = (*command.words, "--timeout", f"{workplace.patience(NEXT):.1f}")
    subprocess.run(words, env=environ, capture_output=True, timeout=workplace.patience(LIMIT), check=False)
    left = [path.name for path in (folder / "temporary").iterdir()]
    return f"{left[0]} is left after the next run" if left else ""
