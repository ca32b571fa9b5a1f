"""Another copy of a library that a framework would load instead of the one installed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpudoctor import versions
from gpudoctor.derive.cuda_libraries import WHEEL_NAMES, CudaComponent, cudnn_difference
from gpudoctor.derive.libraries import component_of
from gpudoctor.snapshot import Asking, Cause, Fact, LibraryFile, LibraryUse, Missing
from gpudoctor.versions import Version

if TYPE_CHECKING:
    from gpudoctor.derive.views.framework import FrameworkView

_STRICT_COMPONENTS = {"cudnn", "nccl"}
"""Components that are compared with the build's however they are opened."""


class OtherCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of a library that would be loaded instead of another."""

    use: LibraryUse
    path: str
    """The copy that would be loaded."""
    version: Version | Missing
    instead: str
    """The copy that would be loaded without it."""
    wanted: Version | None
    """The version that the build needs, or of the copy installed for it; None if neither is known."""
    wanted_where: str
    difference: str
    """"major", "older", "other", "same", or "" if one of the versions is unknown."""

    @property
    def fatal(self) -> bool:
        """Whether the framework cannot work with it: cuDNN and NCCL must match the build, and linked libraries must define every needed symbol.

        An older minor version of other CUDA libraries usually works if they are opened by name.
        """
        strict = self.use.component in _STRICT_COMPONENTS or self.use.asking is Asking.LINKED
        return self.difference == "major" or (self.difference == "older" and strict)


class _Reference(msgspec.Struct, frozen=True):
    """What a loaded copy is compared with."""

    built_with: Version | None = None
    built_with_where: str = ""
    installed: Version | None = None
    """The version of the environment's own package."""
    installed_where: str = ""


def copy_instead_of(framework: FrameworkView, use: LibraryUse, instead: str) -> OtherCopy | None:
    """The copy that `use` would load in place of `instead`; None if it would load none."""
    if not isinstance(use.file, LibraryFile):
        return None
    stated = use.file.version
    version = versions.parse_version(stated.value) if isinstance(stated, Fact) else None
    reference = _reference_version(framework, use)
    by_build = reference.built_with is not None
    return OtherCopy(
        use=use,
        path=use.file.path,
        version=version if version is not None else stated if isinstance(stated, Missing) else Missing(Cause.FAILED, stated.value),
        instead=instead,
        wanted=reference.built_with if by_build else reference.installed,
        wanted_where=reference.built_with_where if by_build else reference.installed_where,
        difference=_version_difference(version, reference),
    )


def _reference_version(framework: FrameworkView, use: LibraryUse) -> _Reference:
    name = component_of(use)
    found = framework.component_or_missing(name) if name in WHEEL_NAMES else None
    if not isinstance(found, CudaComponent):
        return _Reference()
    stack = framework.environment.stack_or_missing
    wheel = None if isinstance(stack, Missing) else stack.distributions.get(found.wheel)
    return _Reference(
        built_with=found.wanted if isinstance(found.wanted, Version) else None,
        built_with_where=found.wanted_where,
        installed=versions.parse_version(wheel.version) if wheel else None,
        installed_where=f"{wheel.name} in {wheel.where}" if wheel else "",
    )


def _version_difference(version: Version | None, reference: _Reference) -> str:
    needed = reference.built_with if reference.built_with is not None else reference.installed
    if version is None or needed is None:
        return ""
    graver = cudnn_difference(needed, version)
    other = reference.installed if reference.installed is not None else needed
    parts = min(version.text.count("."), other.text.count("."), 2) + 1
    if graver or parts == 1:
        return graver
    return "same" if version[:parts] == other[:parts] else "other"
