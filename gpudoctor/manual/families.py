"""The families of rules: their names and titles, and how a family is chosen."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import FAMILIES, RULES
from gpudoctor.errors import UsageError
from gpudoctor.suggestions import suggestion

_FAMILY_TITLES = {
    "hardware": "Hardware: PCI bus, memory errors, power, Xids",
    "driver": "Driver: kernel module, libcuda, device files",
    "platform": "Platform: containers, WSL, schedulers",
    "libraries": "Libraries: CUDA, cuDNN, ptxas, nvcc",
    "builds": "Builds: wheels, GPU architectures, add-ons",
    "python": "Python: environments, packages, requirements",
    "state": "State: visibility, compute mode, MIG, memory in use",
    "multi-gpu": "Multi-GPU: NVLink, fabric manager, NCCL",
    "training": "Training: what the smoke training and its telemetry showed",
}
NAMES = tuple(name.replace("_", "-") for name in FAMILIES)


def family_name(rule: Rule) -> str:
    """Return the name of a rule's family, as it is typed: multi-gpu."""
    return rule.family.replace("_", "-")


def family_title(rule: Rule) -> str:
    """Return the heading of a rule's family, with the start of its codes."""
    return f"{_FAMILY_TITLES[family_name(rule)]} ({rule.code[:3]})"


def rules_of_families(families: Iterable[str]) -> tuple[Rule, ...]:
    """Return the rules of the families, named as "driver" or "GD2"; all if none is named. Raises UsageError for an unknown one."""
    wanted = {_known_family(text) for text in families}
    return tuple(rule for rule in RULES if not wanted or family_name(rule) in wanted)


def _known_family(text: str) -> str:
    name = text.casefold().replace("_", "-")
    by_code = {rule.code[:3].casefold(): family_name(rule) for rule in RULES}
    if name in NAMES or name in by_code:
        return by_code.get(name, name)
    known = f"the families are {', '.join(NAMES)}."
    raise UsageError(f"No family of rules is called {text!r}; {suggestion(text, NAMES, known)}")
