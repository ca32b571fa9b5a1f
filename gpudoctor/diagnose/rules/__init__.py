"""Every rule, in the order of its code; a module of this package lists its own."""

from __future__ import annotations

from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import (
    access,
    branches,
    container,
    container_setup,
    devices,
    driver,
    environment,
    fabric,
    hardware,
    health,
    kernel,
    libcuda,
    logged,
    masks,
    requirements,
    scheduler,
    several,
    slow,
    smoke,
    state,
    vendors,
    virtual,
    wsl,
)

_MODULES = (
    hardware,
    logged,
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
    branches,
    devices,
    fabric,
    kernel,
    vendors,
)
RULES: tuple[Rule, ...] = tuple(sorted((rule for module in _MODULES for rule in module.RULES), key=lambda rule: rule.code))
