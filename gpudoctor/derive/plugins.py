"""The parts of a framework with a plugin for CUDA, such as JAX: which of them do not match its library."""

from __future__ import annotations

import re

from gpudoctor.derive.packages import Stack
from gpudoctor.frameworks import CudaPlugin
from gpudoctor.snapshot import Distribution


def version_numbers(version: str) -> tuple[int, ...]:
    """The dotted numbers that a version begins with, which JAX compares."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def compares_plugins(stack: Stack, plugin: CudaPlugin) -> bool:
    """Whether the library ignores a CUDA plugin of another version; older libraries load any, with unpredictable results."""
    library, since = stack.distributions.get(plugin.library), stack.matrix.bound(plugin.library, "compares-plugins")
    return library is not None and since is not None and version_numbers(library.version) >= version_numbers(since.text)


def mismatched_plugins(stack: Stack, plugin: CudaPlugin) -> tuple[Distribution, ...]:
    """The CUDA plugins whose version differs from the library's."""
    return _plugins_by_match(stack, plugin, matching=False)


def matching_plugins(stack: Stack, plugin: CudaPlugin) -> tuple[Distribution, ...]:
    """The CUDA plugins of the library's version: it takes the first, and ignores others with a warning (jaxlib/plugin_support.py)."""
    return _plugins_by_match(stack, plugin, matching=True)


def _plugins_by_match(stack: Stack, plugin: CudaPlugin, *, matching: bool) -> tuple[Distribution, ...]:
    library = stack.distributions.get(plugin.library)
    if library is None:
        return ()
    wanted = version_numbers(library.version)
    installed = (part for part in stack.distributions.values() if plugin.major(part.name))
    return tuple(part for part in installed if (version_numbers(part.version) == wanted) is matching)
