"""Report sets of whole fleets, made from recorded machines: numbers vary on every node, some nodes are broken, slow or different.

A report is a text with gaps where its numbers stand, so 100,000 of them are written in a minute or two. What was planted is known.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.examination import Examination
from gpudoctor.fleet.figures import FIGURE_KINDS
from gpudoctor.report.build import build_report
from gpudoctor.report.document import encode_document
from gpudoctor.snapshot import VERSION, Fact, KernelDriver, Nvml, Snapshot, Variables
from gpudoctor.snapshot.values import Observed
from gpudoctor.snapshot.volatile import VOLATILE
from tests.machines import store
from tests.shipped import shared_matrix

HEALTHY: Final = "gpu-at-its-speed"
"""What most nodes are: a machine with one A100, trained on and measured, whose report has 30 kB."""
EIGHT: Final = "eight-trained-on-alike"
"""The same with eight, whose report has 140 kB."""
FAULTY: Final = ("driver-470-tensorflow-cuda-12", "kernel-crashes", "row-remap-failed-and-waits", "driver-not-loaded")
"""Machines with a fault."""
SPREAD, JITTER = 0.006, 0.003
"""The standard deviations of a figure from GPU to GPU and from run to run, as a part of it."""


def _driver(snapshot: Snapshot) -> Snapshot:
    assert isinstance(snapshot.kernel_driver, KernelDriver)
    driver = msgspec.structs.replace(snapshot.kernel_driver, version=Fact("550.54.15", "/proc/driver/nvidia/version"))
    assert isinstance(snapshot.nvml, Nvml)
    nvml = msgspec.structs.replace(snapshot.nvml, driver_version="550.54.15")
    return msgspec.structs.replace(snapshot, kernel_driver=driver, nvml=nvml)


def _power_limit(snapshot: Snapshot) -> Snapshot:
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    gpus = tuple(msgspec.structs.replace(gpu, power_limit=350_000) for gpu in snapshot.nvml.gpus)
    return msgspec.structs.replace(snapshot, nvml=msgspec.structs.replace(snapshot.nvml, gpus=gpus))


def _variable(snapshot: Snapshot) -> Snapshot:
    assert isinstance(snapshot.variables, Variables)
    return msgspec.structs.replace(snapshot, variables=Variables({**snapshot.variables.values, "NCCL_DEBUG": "INFO"}))


DRIFTS: Final[dict[str, Callable[[Snapshot], Snapshot]]] = {"driver": _driver, "power limit": _power_limit, "NCCL_DEBUG": _variable}
"""Changes of some nodes, by words with which the drift must be told."""


class Planted(msgspec.Struct):
    """What is wrong in a fleet, by node."""

    faulty: dict[str, str] = {}
    """The recorded machine."""
    slow: set[str] = set()
    drifting: dict[str, str] = {}
    """A key of DRIFTS."""

    @property
    def every(self) -> set[str]:
        """All nodes with which something is wrong."""
        return {*self.faulty, *self.slow, *self.drifting}


class Template:
    """A report with gaps for what differs from node to node."""

    def __init__(self, machine: str, change: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot) -> None:
        document = json.loads(encode_document(_report(machine, change)))
        self._gaps: list[tuple[float, str, str]] = []
        document["snapshot"] = self._open(document["snapshot"], "")
        document["created"] = document["snapshot"]["created"] = "@@created@@"
        document["id"] = "@@id@@"
        text = re.sub(r"GPU-[0-9a-f]{8}", "GPU-@@id@@", json.dumps(document, indent=2, ensure_ascii=False))
        self._parts = re.split(r'"@@(\d+)@@"|@@(created|id)@@', text)

    def _open(self, node: Any, gpu: str, field: str = "") -> Any:
        """Return a part of the report with gaps for its numbers; all numbers of a volatile `field` are gaps."""
        if isinstance(node, list):
            return [self._open(item, gpu, field) for item in node]
        if isinstance(node, dict):
            gpu, volatile = str(node.get("address", gpu)), _volatile(str(node.get("type")))
            return {name: self._open(value, gpu, name if name in volatile else field) for name, value in node.items()}
        if not field or type(node) not in {int, float}:
            return node
        self._gaps.append((node, field, gpu))
        return f"@@{len(self._gaps) - 1}@@"

    def filled(self, chance: random.Random, pace: float = 1.0) -> bytes:
        """Return a node's report; its GPUs run at `pace` of the usual speed."""
        own = {gpu: chance.gauss(1, SPREAD) for _, _, gpu in self._gaps}
        words = {"created": f"2026-11-21T04:{chance.randrange(60):02}:{chance.randrange(60):02}Z", "id": f"{chance.getrandbits(32):08x}"}
        out = []
        for place, part in enumerate(self._parts):
            kind = place % 3
            if part is None:
                continue
            out.append(part if kind == 0 else self._number(int(part), own, chance, pace) if kind == 1 else words[part])
        return "".join(out).encode()

    def _number(self, gap: int, own: dict[str, float], chance: random.Random, pace: float) -> str:
        value, name, gpu = self._gaps[gap]
        figure = FIGURE_KINDS.get(name)
        if figure is None or figure.words:
            varied = value * chance.uniform(0.97, 1.03)
            return str(round(varied)) if isinstance(value, int) else repr(varied)
        rate = own[gpu] * chance.gauss(1, JITTER) * pace
        return repr(value * rate if figure.low_is_worse else value / rate)


@cache
def _volatile(tag: str) -> frozenset[str]:
    kinds = (one for one in VOLATILE if issubclass(one, Observed) and one.__struct_config__.tag == tag)
    return next((VOLATILE[kind] for kind in kinds), frozenset())


@cache
def _report(machine: str, change: Callable[[Snapshot], Snapshot]) -> Any:
    """Return the report of a recorded machine, changed and diagnosed again."""
    snapshot = change(msgspec.structs.replace(store.recorded(machine), version=VERSION))
    policy, matrix = store.policy(machine), shared_matrix()
    found = Examination(snapshot=snapshot, diagnosis=diagnose(snapshot, matrix, policy), policy=policy, matrix_date=matrix.date)
    return build_report(found, "check", ("gpudoctor", "check", "--format", "json"))


def plan(size: int, seed: int = 1, faulty: float = 0.01, slow: float = 0.005, drifting: float = 0.005) -> tuple[list[str], Planted]:
    """Return the names of a fleet's nodes and what is to be wrong with them; each kind of fault is there at least once."""
    chance = random.Random(seed)
    names = [f"gpu{number:0{len(str(size))}}" for number in range(1, size + 1)]
    amounts = [max(least, round(size * share)) for least, share in ((1, faulty), (1, slow), (len(DRIFTS), drifting))]
    chosen = chance.sample(names, sum(amounts))
    broken, slowed, changed = chosen[: amounts[0]], chosen[amounts[0] : sum(amounts[:2])], chosen[sum(amounts[:2]) :]
    planted = Planted(
        {name: FAULTY[number % len(FAULTY)] for number, name in enumerate(broken)},
        set(slowed),
        {name: tuple(DRIFTS)[number % len(DRIFTS)] for number, name in enumerate(changed)},
    )
    return names, planted


def reports(names: Sequence[str], planted: Planted, seed: int = 1, healthy: str = HEALTHY) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the report of each node."""
    chance = random.Random(seed)
    templates: dict[str, Template] = {"": Template(healthy)}
    for name in names:
        kind = planted.faulty.get(name) or planted.drifting.get(name, "")
        if kind not in templates:
            templates[kind] = Template(healthy, DRIFTS[kind]) if kind in DRIFTS else Template(kind)
        yield name, templates[kind].filled(chance, chance.uniform(0.85, 0.92) if name in planted.slow else 1.0)
