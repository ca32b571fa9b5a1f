"""Every rule, in the order of its code; a module of this package lists its own."""

from __future__ import annotations

from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import access, driver, environment, hardware, smoke

_MODULES = (hardware, driver, access, environment, smoke)
RULES: tuple[Rule, ...] = tuple(sorted((rule for module in _MODULES for rule in module.RULES), key=lambda rule: rule.code))
