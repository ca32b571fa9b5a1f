"""Runs gpudoctor on an environment, and each of its frameworks in it, on a machine with one healthy GPU played by our libraries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.environments.compare import Comparison, compare
from tests.environments.make import site
from tests.environments.rows import STUBS, Row
from tests.seams import Cuda, Nvml, PciCard, Tree, environ_with

CUDA, DRIVER = "13.3", "610.43.02"
"""New enough for everything on the index."""
SHARED = ("usr", "lib", "lib64", "lib32", "opt", "bin", "sbin", "etc/ld.so.cache", "etc/ld.so.conf", "etc/ld.so.conf.d")
"""What the examined machine shares with this one: its libraries."""
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "GPUDOCTOR_TEST_CACHE")
"""Variables of this process to keep; the rest might affect the test."""
WITNESS = Path(__file__).with_name("witness.py")


@dataclass(frozen=True, kw_only=True)
class Examined:
    """One environment. `seconds` are those of gpudoctor's X-ray and of each framework's run, by name."""

    comparisons: tuple[Comparison, ...]
    same_xray: bool
    """Whether `gpudoctor check` and `gpudoctor xray` name the same files."""
    seconds: Mapping[str, float]
    report: Mapping[str, Any]
    xray: Mapping[str, Any]
    witnesses: Mapping[str, Mapping[str, Any]]


def examine(row: Row, folder: Path, place: Path) -> Examined:
    """The environment in `folder` for `row`; `place` is a folder for the machine. Raises SeamUnavailable without a compiler."""
    variables = machine(row, folder, place)
    seconds, witnesses = {}, {}
    python = str(folder / "bin" / "python")
    begun = time.perf_counter()
    xray = _gpudoctor(["xray", "--python", str(folder), "--format", "json"], variables)
    seconds["xray"] = time.perf_counter() - begun
    root = ["--root", str(place / "root")]
    report = _gpudoctor(["check", "--no-smoke", *root, "--python", str(folder), "--format", "json"], variables)
    for framework in row.frameworks:
        begun = time.perf_counter()
        witnesses[framework] = witness(python, framework, variables, place)
        seconds[framework] = time.perf_counter() - begun
    return Examined(
        comparisons=tuple(compare(name, witnesses[name], report, xray) for name in row.frameworks),
        same_xray=_told(xray["libraries"]) == _told(report["snapshot"]["libraries"]),
        seconds=seconds,
        report=report,
        xray=xray,
        witnesses=witnesses,
    )


def machine(row: Row, folder: Path, place: Path) -> dict[str, str]:
    """Build the machine below `place`; returns the variables of its processes."""
    nvml = Nvml(gpus=1, cuda=CUDA, driver=DRIVER)
    root = Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver=DRIVER).build(place / "root")
    for name in SHARED:
        there, here = Path("/", name), root / name
        if there.exists() and not here.exists():
            here.symlink_to(there)
    base = {name: os.environ[name] for name in KEPT if name in os.environ}
    before = []
    for entry in row.library_path:
        if entry == STUBS:
            before.append(_stubs(place / "toolkit" / "lib64" / "stubs"))
        else:
            before.append(entry.replace("SITE", str(site(folder))))
    variables = environ_with(nvml, Cuda(gpus=nvml.gpus, cuda=CUDA), directory=place / "driver", base=base)
    if STUBS in row.library_path:
        variables["FAKE_CUDA"] = str(place / "toolkit" / "lib64" / "stubs" / "fake_cuda.scenario")
    variables["LD_LIBRARY_PATH"] = ":".join((*before, variables["LD_LIBRARY_PATH"]))
    return variables


def _stubs(folder: Path) -> str:
    """A folder with a libcuda.so.1 that is a stub, a file of its own like a toolkit's."""
    Cuda(gpus=0, calls={"*": "return 34"}).install(folder)
    library = folder / Cuda.SONAME
    content = library.read_bytes()
    library.unlink()
    library.write_bytes(content)
    return str(folder)


def witness(python: str, framework: str, variables: Mapping[str, str], place: Path) -> dict[str, Any]:
    """What the framework did: the answer of witness.py, and its log."""
    answer = place / f"{framework}.json"
    answer.unlink(missing_ok=True)
    command = [python, str(WITNESS), framework, str(answer)]  # keeps the bytecode: to compile TensorFlow takes longer than to load it
    done = subprocess.run(command, env=dict(variables), capture_output=True, timeout=300, check=False, cwd=place)
    log = done.stderr.decode("utf-8", "replace")
    if not answer.exists():
        return {"version": None, "gpus": None, "error": f"ended with {done.returncode}", "mapped": [], "cudnn": {}, "log": log}
    return {**json.loads(answer.read_text()), "log": log}


def _gpudoctor(words: list[str], variables: Mapping[str, str]) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-m", "gpudoctor", *words], env=dict(variables), capture_output=True, check=False)
    if not done.stdout:
        raise AssertionError(done.stderr.decode())
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def _told(libraries: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (one["framework"], use["wanted"], use["file"].get("path", ""))
        for one in libraries.get("frameworks", ())
        for use in (one["uses"] if isinstance(one["uses"], list) else ())
    ]
