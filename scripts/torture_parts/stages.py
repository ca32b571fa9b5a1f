"""The training hangs or stops itself in each of its stages, in a real TensorFlow on the CPU: the report names the stage, and nothing is left."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from scripts.torture_parts.cell import Case, Result, Workplace, emptied, left_process
from scripts.torture_parts.patient import MARK, check_of
from tests.machines.packages import environment
from tests.seams import Tree

STAGES: Final = ("import", "devices", "kernel", "training", "agreement")
FAULTS: Final = {"hangs": "time.sleep(999)", "stops itself": "os.kill(os.getpid(), 19)"}
TIMEOUT: Final = 45.0
LIMIT: Final = TIMEOUT + 15.0
IN_STAGE: Final = """
import contextlib, importlib.util, os, time
_from_file = importlib.util.spec_from_file_location

def from_file(name, path):
    spec = _from_file(name, path)
    if name == "gpudoctor_smoke_protocol":
        run = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (run(module), spoil(module))
    return spec

def spoil(module):
    stage = module.Answers.stage

    @contextlib.contextmanager
    def spoilt(self, name, **about):
        with stage(self, name, **about) as facts:
            if name == {stage!r}:
                {fault}
            yield facts

    module.Answers.stage = spoilt

importlib.util.spec_from_file_location = from_file
"""
"""Runs before the smoke training."""


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield each stage with each fault; none in a short torture, as TensorFlow takes long to start."""
    root = Tree().build(workplace.folder / "root")
    for stage in () if workplace.short else STAGES:
        for fault in FAULTS:
            if not workplace.only or stage in workplace.only:
                yield Case(stage, fault, partial(run, workplace, root, stage, fault))


def run(workplace: Workplace, root: Path, stage: str, fault: str) -> Result:
    """Return what a check says of a training that never leaves a stage."""
    folder = emptied(workplace.folder / f"{stage} {fault}".replace(" ", "-"))
    made = environment(folder, ())
    (site,) = made.glob("lib/python3*/site-packages")
    (site / "real.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    (site / "sitecustomize.py").write_text(IN_STAGE.format(stage=stage, fault=FAULTS[fault]))
    command = (*check_of(made, root), "--framework", "tensorflow")
    environ = workplace.environ | {MARK: f"{folder}/", "TMPDIR": str(folder)}
    result = workplace.check(environ, command, TIMEOUT, LIMIT).but(left_process(f"{MARK}={folder}/"))
    told = " ".join(str(result.report.get(part)) for part in ("findings", "because", "not_judged", "could_not_tell"))
    result = result.but(f"ready, although {stage} never ended" if result.verdict in {"ready", "degraded"} else "")
    return result.but("" if stage in told else f"the report does not name {stage}: {result.report.get('because')}")
