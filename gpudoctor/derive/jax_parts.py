"""The parts of JAX that must fit one another: jax, jaxlib and the CUDA plugin."""

from __future__ import annotations

import re

from gpudoctor.derive.packages import Stack
from gpudoctor.snapshot import Distribution

JAXLIB = "jaxlib"


def version_numbers(version: str) -> tuple[int, ...]:
    """The dotted numbers that a version begins with, by which JAX compares its parts."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def compares_plugins(stack: Stack) -> bool:
    """Whether the jaxlib ignores a CUDA plugin whose version differs from its own; older ones load any, with unknown results."""
    jaxlib, since = stack.distributions.get(JAXLIB), stack.matrix.bound(JAXLIB, "compares-plugins")
    return jaxlib is not None and since is not None and version_numbers(jaxlib.version) >= version_numbers(since.text)


def mismatched_plugins(stack: Stack) -> tuple[Distribution, ...]:
    """JAX's CUDA plugins whose version differs from jaxlib's."""
    jaxlib = stack.distributions.get(JAXLIB)
    if jaxlib is None:
        return ()
    wanted = version_numbers(jaxlib.version)
    plugins = (part for part in stack.distributions.values() if PLUGIN.major(part.name))
    return tuple(plugin for plugin in plugins if version_numbers(plugin.version) != wanted)
