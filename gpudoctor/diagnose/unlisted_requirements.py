"""Builds of PyTorch whose requirements for NVIDIA's packages are in no table, where another package requires some of the same ones."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Stack, wheel_platform
from gpudoctor.derive.specifiers import parse_requirement
from gpudoctor.findings import ENVIRONMENT, Unchecked
from gpudoctor.frameworks import NVIDIA_PACKAGES
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution


def unlisted_requirements(stack: Stack) -> Iterator[Unchecked]:
    """Yield each such build of an assumed environment: an installer may find no release of a package that both require."""
    for distribution in stack.distributions.values():
        row = _row_without_requirements(distribution, stack)
        shared = frozenset[str]() if row is None else _nvidia_packages(row, stack)
        others = (demand.by for demand in stack.demands if demand.requirement.name in shared and demand.by.name != distribution.name)
        beside = next(others, None)
        if beside is not None:
            reason = f"no table lists which releases of NVIDIA's packages it requires, and {beside.label} requires some too"
            yield Unchecked(ENVIRONMENT, distribution.label, reason, package=distribution.name)


def _row_without_requirements(distribution: Distribution, stack: Stack) -> FrameworkRelease | None:
    """Return the row of a build if its requirements for NVIDIA's packages are unknown."""
    if "+" not in distribution.version:
        return None
    found = stack.matrix.resolve(distribution.name, distribution.version, stack.platform or wheel_platform.LINUX_X86_64)
    return None if found.nvidia_known else found.row


def _nvidia_packages(row: FrameworkRelease, stack: Stack) -> frozenset[str]:
    """Return which of NVIDIA's packages other builds of the framework for the same major version of CUDA require."""
    alike = (other for other in stack.matrix.releases(row.distribution) if _major(other) == _major(row))
    wanted = (parse_requirement(text) for other in alike for text in other.requires if text.startswith(NVIDIA_PACKAGES))
    return frozenset(one.name for one in wanted if one is not None)


def _major(row: FrameworkRelease) -> int | None:
    return row.built_with_cuda.major if row.built_with_cuda is not None else None
