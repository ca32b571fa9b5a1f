"""The parts of scripts/torture: a module each, with `cells`, which yields what to try; listed in PARTS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from scripts.torture_parts import (
    arguments,
    binaries,
    clock,
    commands,
    defects,
    driver_calls,
    limits,
    nvml_states,
    patient,
    signals,
    site,
    soak,
    stages,
    state_pairs,
    trees,
    vanishing,
)
from scripts.torture_parts.cell import Case, Workplace

PARTS: Final[Mapping[str, Callable[[Workplace], Iterator[Case]]]] = {
    "driver-calls": driver_calls.cells,
    "vanishing": vanishing.cells,
    "nvml-states": nvml_states.cells,
    "state-pairs": state_pairs.cells,
    "signals": signals.cells,
    "clock": clock.cells,
    "defects": defects.cells,
    "defects-elsewhere": defects.of_others,
    "patient": patient.cells,
    "stages": stages.cells,
    "limits": limits.cells,
    "commands": commands.cells,
    "arguments": arguments.cells,
    "trees": trees.cells,
    "site": site.cells,
    "binaries": binaries.cells,
    "soak": soak.cells,
}
