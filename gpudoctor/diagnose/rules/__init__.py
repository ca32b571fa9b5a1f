"""Every rule, in the order of its code; a module of this package lists its own."""

from __future__ import annotations

from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import (
    access,
    container,
    container_setup,
    driver,
    environment,
    hardware,
    health,
    libcuda,
    masks,
    requirements,
    scheduler,
    several,
    slow,
    smoke,
    state,
    virtual,
    wsl,
)

_MODULES = (
    hardware,
    driver,
    access,
    environment,
    requirements,
    smoke,
    health,
    virtual,
    state,
    several,
    slow,
    container,
    container_setup,
    scheduler,
    wsl,
    libcuda,
    masks,
)
RULES: tuple[Rule, ...] = tuple(sorted((rule for module in _MODULES for rule in module.RULES), key=lambda rule: rule.code))
