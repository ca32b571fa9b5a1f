"""Healthy machines whose checks together call every driver function that gpudoctor knows, and can make each of them fail."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from scripts.torture_parts.cell import CHECK, Result, Workplace, emptied, left_process
from scripts.torture_parts.facts import Facts, facts, steady
from tests.seams import Cuda, Mig, Nvml, NvmlGpu, PciCard, Tree, environ_with, seen_by_child

LICENCE: Final[Mapping[str, int | str]] = {
    "licence_product": "NVIDIA Virtual Compute Server",
    "licence_state": 1,
    "licence_seconds": 9_000_000,
}
VERSION: Final = re.compile(r"_v\d$")


class Call(NamedTuple):
    """One call of a driver function: about which GPU, -1 for none or unknown, and by which process."""

    function: str
    gpu: int
    process: int


@dataclass(frozen=True)
class Machine:
    """A healthy machine, and how it is checked."""

    workplace: Workplace
    name: str
    cards: Sequence[NvmlGpu]
    arguments: Sequence[str] = ()
    processes: Mapping[int, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    """NVML functions that its driver lacks."""
    always: Mapping[str, str] = field(default_factory=dict)
    """Faults of libcuda that are no defect."""

    @property
    def folder(self) -> Path:
        """Return the folder of its cells."""
        return self.workplace.folder / self.name

    @cached_property
    def tree(self) -> Path:
        """Return the root of the machine's files."""
        cards = Nvml(gpus=self.cards)
        return Tree(pci=[PciCard.of(card) for card in cards.cards], kernel_driver=cards.driver).build(self.folder / "tree")

    def environ(self, cell: Path, function: str = "", fault: str = "", library: str = "") -> dict[str, str]:
        """Return the environment in which `function` has `fault`, or all of a library; temporary files of the check stay in the cell."""
        calls = {function: fault} if function else {}
        of_nvml = (library or function).startswith("nvml")
        nvml = Nvml(gpus=self.cards, processes=self.processes, calls=calls if of_nvml else {}, without=self.without)
        cuda = Cuda(gpus=nvml.gpus, calls=self.always if of_nvml else {**self.always, **calls})
        for name in ("temporary", "home"):
            (cell / name).mkdir(parents=True, exist_ok=True)
        base = self.workplace.environ | {"TMPDIR": str(cell / "temporary"), "HOME": str(cell / "home")}
        return seen_by_child(self.tree, environ_with(nvml, cuda, directory=cell, base=base))

    def check(self, function: str = "", fault: str = "", cell: str = "", library: str = "") -> Result:
        """Check the machine with a fault; what is left of the check afterwards is a trouble too."""
        folder = emptied(self.folder / (cell or f"{function} {fault}".replace(" ", "-")))
        result = self.workplace.check(self.environ(folder, function, fault, library), (*CHECK, *self.arguments))
        left = left_process(f"{folder}/") or next((f"{path} is left" for path in (folder / "temporary").iterdir()), "")
        shutil.rmtree(folder)
        return result.but(left)

    @cached_property
    def healthy(self) -> Facts:
        """Return the facts that two checks without a fault agree on."""
        first, second = (self.check(cell=f"healthy-{number}") for number in range(2))
        for result in (first, second):
            if result.trouble or result.verdict != "ready":
                msg = f"{self.name} is no healthy machine: {result.verdict} {result.causes} {result.trouble}"
                raise RuntimeError(msg)
        return steady(facts(first.report), facts(second.report))

    @cached_property
    def calls(self) -> list[Call]:
        """Return the calls of driver functions in a check, in their order."""
        calls = self.folder / "calls"
        environ = self.environ(self.folder / "recorded") | {"FAKE_CALLS": str(calls)}
        subprocess.run((*CHECK, *self.arguments), env=environ, stdout=subprocess.DEVNULL, check=True)
        words = (line.split() for line in calls.read_text().splitlines())
        return [Call(VERSION.sub("", function), int(gpu), int(process)) for function, gpu, process in words]

    @cached_property
    def called(self) -> list[str]:
        """Return the driver functions that a check calls, in the order of their first calls."""
        return list(dict.fromkeys(call.function for call in self.calls))


def machines(workplace: Workplace) -> Iterator[Machine]:
    """Yield the machines; each has cards that make gpudoctor call other functions."""
    yield Machine(workplace, "two-gpus", [NvmlGpu(), NvmlGpu()])
    split = NvmlGpu(mig=(1, 1), mig_instances=(Mig(uuid="MIG-5d1a2b3c-0000-5000-8000-000000000001"),))
    virtual = NvmlGpu(virtualization=2, facts=LICENCE, compute_processes=((4711, 1 << 30),))
    others = [split, virtual, NvmlGpu(facts={"nvlink_old": 1})]
    yield Machine(workplace, "others", others, ("--identify",), {4711: "/usr/bin/python3"})
    older = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetGpuFabricInfoV")
    yield Machine(workplace, "older", [NvmlGpu()], without=older, always={"cuDeviceGetName": "return 999"})
    yield Machine(workplace, "touched", [NvmlGpu()], ("--level", "touch"))
