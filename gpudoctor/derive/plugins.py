"""The parts of a framework whose CUDA half is a plugin, as JAX's is: which of them do not fit its library."""

from __future__ import annotations

import re

from gpudoctor.derive.packages import Stack
from gpudoctor.frameworks import CudaPlugin
from gpudoctor.snapshot import Distribution


def version_numbers(version: str) -> tuple[int, ...]:
    """The dotted numbers that a version begins with, by which JAX compares its parts."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def compares_plugins(stack: Stack, plugin: CudaPlugin) -> bool:
    """Whether the library ignores a CUDA plugin whose version differs from its own; older ones load any, with unknown results."""
    library, since = stack.distributions.get(plugin.library), stack.matrix.bound(plugin.library, "compares-plugins")
    return library is not None and since is not None and version_numbers(library.version) >= version_numbers(since.text)


def mismatched_plugins(stack: Stack, plugin: CudaPlugin) -> tuple[Distribution, ...]:
    """The CUDA plugins whose version differs from the library's."""
    library = stack.distributions.get(plugin.library)
    if library is None:
        return ()
    wanted = version_numbers(library.version)
    installed = (part for part in stack.distributions.values() if plugin.major(part.name))
    return tuple(part for part in installed if version_numbers(part.version) != wanted)
