"""Which rules can say something about a machine: loading the others takes a tenth of a diagnosis of text, and 6 to 12 ms of a check."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import without
from gpudoctor.diagnose.rules.of_gpus import OF_GPUS
from gpudoctor.diagnose.rules.of_sections import OF_CUDA_BUILDS, OF_SECTIONS, OF_STATES, OF_TRAINING, OF_WSL
from gpudoctor.findings import Policy
from gpudoctor.snapshot import Cause, Missing, NvmlGpu, TextLog

_UNSTATED = {Cause.NOT_ASKED, Cause.NOT_STATED}
_IMPLIED = frozenset(("libraries", "libcuda"))
"""Sections in whose place stated packages speak: they bring libraries, and cuda-compat a libcuda."""
_IDENTITY = frozenset(("index", "address", "uuid", "name", "compute_capability", "memory_total"))
"""What says which GPU it is, and nothing of its state."""


def needed(machine: MachineView, policy: Policy, named: frozenset[str] = frozenset()) -> tuple[Rule, ...]:
    """Return every rule, in order, without those for what the machine does not have or nobody states, unless the user names rules.

    `named` are causes that lines of a text may point to: their rules stay.
    """
    log = machine.observed.text_log
    if policy.only or policy.skip or policy.require or (isinstance(log, TextLog) and log.reported):
        return without(frozenset())
    lacks = _unstated(machine) if isinstance(log, TextLog) or machine.supposed else _needs(machine)
    left_out = frozenset[str]().union(*(rules for is_lacking, rules in lacks if is_lacking))
    return without(left_out - {name.replace("-", "_") for name in named})


def _needs(machine: MachineView) -> tuple[tuple[bool, Collection[str]], ...]:
    """Return whether the machine lacks something, and the rules about it."""
    seen = machine.observed
    without_cuda = not isinstance(seen.frameworks, Missing) and all(one.cuda_build is False for one in seen.frameworks)
    return (
        (not machine.gpus, OF_GPUS),
        (not machine.site.on_wsl, OF_WSL),
        (_is_unstated(seen.smoke), OF_TRAINING),
        (without_cuda, OF_CUDA_BUILDS),
    )


def _unstated(machine: MachineView) -> tuple[tuple[bool, Collection[str]], ...]:
    """Return whether a text or a stated machine lacks a section, and the rules that say nothing without it."""
    implied = _IMPLIED if machine.supposed else frozenset[str]()
    sections = (
        (section not in implied and _is_unstated(getattr(machine.observed, section)), rules) for section, rules in OF_SECTIONS.items()
    )
    states = not _is_any_state_known(machine)
    return ((not machine.gpus, OF_GPUS), (not machine.site.on_wsl, OF_WSL), (states, OF_STATES), *sections)


def _is_any_state_known(machine: MachineView) -> bool:
    """Return whether anything is known of a GPU but which one it is; a query that failed is known too."""
    known = (gpu.observed.nvml for gpu in machine.gpus if not _is_unstated(gpu.observed.nvml))
    return any(not isinstance(gpu, NvmlGpu) or not all(_is_unstated(getattr(gpu, field)) for field in _STATE) for gpu in known)


_STATE = tuple(field for field in NvmlGpu.__struct_fields__ if field not in _IDENTITY)


def _is_unstated(fact: Any) -> bool:
    return isinstance(fact, Missing) and fact.cause in _UNSTATED
