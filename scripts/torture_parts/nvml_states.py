"""NVML answers an abnormal state, through our own library: the check finds it, or finds nothing where tests/states/table.py says why.

Each state is tried on one GPU, or on the fourth of eight if it takes others to compare with.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from scripts.torture_parts.cell import CHECK, Case, Result, Workplace, emptied
from tests.machines.recipes import RECIPES
from tests.seams import Cuda, Nvml, PciCard, environ_with
from tests.states.real import lines
from tests.states.table import STATES, State

MACHINE: Final = RECIPES["blackwell-fabric-in-order"]
LINKS: Final = {"nvlink.speed": 53_125, "nvlink.remote": 2}
PLACES: Final = {True: (1, 0), False: (8, 3)}
"""How many GPUs a machine has and which one is in the state, by whether one GPU is enough."""
SHORT: Final = 8


def library(gpus: int, instead: dict[str, str]) -> Nvml:
    """Return the NVML of a healthy machine with so many B200, in which these lines of the scenario are others."""
    nvml = MACHINE.libraries[0]
    assert isinstance(nvml, Nvml)
    cards = [replace(card, facts={**card.facts, **LINKS}) for card in nvml.cards[:gpus]]
    return replace(nvml, gpus=cards, instead=instead)


def cells(workplace: Workplace) -> Iterator[Case]:
    """Yield the healthy machines and each state; a short run has a sample of them."""
    states: list[State | None] = [*STATES]
    if workplace.short:
        states = random.Random(14).sample(states, SHORT)
    for state in (None, *states):
        if not workplace.only or str(state) in workplace.only:
            yield Case(str(state), "answered", partial(run, workplace, state), "NVML state" if state else "healthy")


def run(workplace: Workplace, state: State | None) -> Result:
    """Return what a check says of a machine in a state."""
    alone = state is not None and state.alone and not state.path.startswith("pairs")
    gpus, place = PLACES[alone]
    nvml = library(gpus, lines(state, place) if state else {})
    folder = emptied(workplace.folder / str(STATES.index(state) if state else "healthy"))
    tree = replace(MACHINE.tree, pci=[PciCard.of(card) for card in nvml.cards]).build(folder / "tree")
    environ = environ_with(nvml, Cuda(gpus=nvml.gpus, cuda=nvml.cuda), directory=folder / "libraries", base=workplace.environ)
    result = workplace.check(environ, (*CHECK, "--root", str(tree)))
    found = sorted({one["name"] for one in result.report.get("findings", ())})
    if state and state.finds:
        return result.but("" if state.finds in found else f"finds {', '.join(found) or 'nothing'}, not {state.finds}")
    return result.but(
        f"finds {', '.join(found)}" if found else "" if result.verdict == "ready" else f"{result.verdict}: {result.report.get('because')}"
    )
