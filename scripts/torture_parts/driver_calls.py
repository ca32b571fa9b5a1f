"""Each driver function that a check calls fails in every way, one at a time.

The functions are found by recording the calls of a healthy check on a machine with two GPUs, so a new one is covered by itself. A cell is
one function with one fault: an error code of its header, a crash, a silent exit, a delay or a hang. In each cell the check must end in time
with a valid report, leave no process behind, and not say "ready" where the fault hides what it promises.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from scripts.torture_parts.cell import CHECK, Case, Result, Workplace, left_process
from tests.seams import Cuda, Nvml, PciCard, Tree, environ_with, seen_by_child
from tests.seams.build import nvml_header

CUDA_HEADERS: Final = ("/usr/local/cuda/include/cuda.h", "/usr/local/cuda-13.0/include/cuda.h")
DEATHS: Final = ("crash", "leave", "hang")
NOT_SUPPORTED: Final = {"nvml": (3, 4, 13, 25), "cu": (801,)}
"""Codes that healthy machines return: the card lacks the feature, the library the function or its version, or the call needs root."""
LOST: Final = "return 15"
"""NVML_ERROR_GPU_IS_LOST."""
PROMISED: Final[Mapping[str, str]] = {
    "nvmlInit": "whether the driver works",
    "nvmlDeviceGetCount": "which GPUs there are",
    "nvmlDeviceGetHandleByIndex": "whether each GPU answers",
    "nvmlDeviceGetPciInfo": "which GPU is which",
    "nvmlDeviceGetComputeMode": "whether programs may use it",
    "nvmlDeviceGetMigMode": "whether it can be used without an instance",
    "nvmlDeviceGetMemoryInfo": "whether it has free memory",
    "nvmlDeviceGetFieldValues": "its errors, and whether it needs a reset",
    "nvmlSystemGetConfComputeState": "whether it accepts work",
    "cuInit": "whether CUDA initialises",
    "cuDeviceGetCount": "which GPUs CUDA shows",
    "cuDeviceGet": "whether CUDA shows each of them",
}
"""What each function tells that `check --node` promises; the others give details, and their failure is reported as not checked."""
BESIDE: Final = frozenset({"nvmlDeviceGetTopologyCommonAncestor", "nvmlDeviceGetP2PStatus"})
"""Asked last, about pairs of GPUs: nothing that the level promises depends on them."""


class Machine:
    """A machine with two healthy GPUs, whose driver libraries fail as told."""

    def __init__(self, workplace: Workplace) -> None:
        self.workplace, self.folder = workplace, workplace.folder
        cards = Nvml(gpus=2)
        self.tree = Tree(pci=[PciCard.of(card) for card in cards.cards], kernel_driver=cards.driver).build(self.folder / "tree")

    def environ(self, name: str, function: str = "", fault: str = "") -> dict[str, str]:
        """Return the environment in which `function` has `fault`."""
        calls = {function: fault} if function else {}
        nvml = Nvml(gpus=2, calls=calls if function.startswith("nvml") else {})
        cuda = Cuda(gpus=nvml.gpus, calls={} if function.startswith("nvml") else calls)
        return seen_by_child(self.tree, environ_with(nvml, cuda, directory=self.folder / name, base=self.workplace.environ))

    def functions(self) -> list[str]:
        """Return the functions that a check of the healthy machine calls."""
        calls = self.folder / "calls"
        subprocess.run(CHECK, env=self.environ("healthy") | {"FAKE_CALLS": str(calls)}, stdout=subprocess.DEVNULL, check=True)
        return sorted({re.sub(r"_v\d$", "", line) for line in calls.read_text().splitlines()})

    def run(self, function: str, fault: str) -> Result:
        """Return what the check says in one cell."""
        name = f"{function} {fault}".replace(" ", "-")
        result = self.workplace.check(self.environ(name, function, fault))
        return result.but(left_process(f"{self.folder / name}/") or wrongly_ready(function, fault, result.verdict))


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield the faults of each function that a check calls."""
    machine = Machine(workplace)
    for function in workplace.only or machine.functions():
        for fault in faults(function, short=workplace.short):
            yield Case(function, fault, partial(machine.run, function, fault))


def codes(function: str) -> list[int]:
    """Return the error codes of the header that declares the function."""
    if function.startswith("nvml"):
        return sorted({int(number) for number in re.findall(r"NVML_ERROR_\w+\s*=\s*(\d+)", nvml_header().read_text())})
    header = next(Path(path) for path in CUDA_HEADERS if Path(path).exists())
    return sorted({int(number) for number in re.findall(r"CUDA_ERROR_\w+\s*=\s*(\d+)", header.read_text())})


def faults(function: str, *, short: bool) -> Iterator[str]:
    """Yield the faults of a function; a short run has one code of each kind, and hangs only where something is promised."""
    if short:
        yield from (LOST if function.startswith("nvml") else "return 999", "crash")
        yield from ("hang", "return 999") if function in PROMISED else ()
        return
    yield from (f"return {code}" for code in codes(function))
    yield from (*DEATHS, "sleep 300")


def wrongly_ready(function: str, fault: str, verdict: str) -> str:
    """Return why "ready" is wrong in a cell; empty if it is right, or was not said."""
    if verdict != "ready" or fault.startswith("sleep"):
        return ""
    family = "nvml" if function.startswith("nvml") else "cu"
    if function in PROMISED and fault not in {f"return {code}" for code in NOT_SUPPORTED[family]}:
        return f"ready, although {PROMISED[function]} is unknown"
    if fault in DEATHS and function not in BESIDE:
        return "ready, although the driver library did not survive"
    return "ready, although a GPU is lost" if (fault, family) == (LOST, "nvml") and _about_a_gpu(function) else ""


def _about_a_gpu(function: str) -> bool:
    return function.startswith("nvmlDevice") and function not in BESIDE
