"""GD4: whether the CUDA of the system is the one that a build links, and whether libraries for two CUDA releases mix."""

from __future__ import annotations

from gpudoctor import versions
from gpudoctor.snapshot import Fact, Toolkit
from gpudoctor.versions import Version


def _system(toolkits: tuple[Toolkit, ...]) -> list[tuple[Version, str]]:
    """The CUDA releases on the system, and where each is."""
    stated = ((one.toolkit_cuda, one.path) for one in toolkits if isinstance(one.toolkit_cuda, Fact))
    parsed = ((versions.parse(fact.value), path or fact.where) for fact, path in stated)
    return [(version, where) for version, where in parsed if version is not None]
