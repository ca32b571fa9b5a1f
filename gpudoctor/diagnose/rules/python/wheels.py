"""GD5 and GD6: wheels that this system, processor or board cannot run: glibc, CPU features, Jetson."""

from __future__ import annotations

from gpudoctor.derive import Stack
from gpudoctor.snapshot import Distribution, Framework

_PARTS = {"tensorflow": ("tensorflow",), "torch": ("torch",), "jax": ("jaxlib", "jax-cuda")}
"""How the names of the distributions begin whose compiled code a framework is."""


def _compiled(framework: Framework, stack: Stack) -> list[Distribution]:
    return [one for one in stack.distributions.values() if one.name.startswith(_PARTS.get(framework.name, ()))]
