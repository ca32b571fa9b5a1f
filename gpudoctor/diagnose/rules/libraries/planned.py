"""A planned framework and the extra that installs its CUDA libraries."""

import msgspec

from gpudoctor.derive import EffectiveCuda, FrameworkView, not_applicable
from gpudoctor.derive.cuda_libraries import takes_system_cuda
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.findings import Fix
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution, Missing


class PlannedFramework(msgspec.Struct, frozen=True, kw_only=True):
    """A known CUDA release whose libraries an extra installs."""

    distribution: Distribution
    row: FrameworkRelease
    cuda: EffectiveCuda
    in_extra: tuple[str, ...]
    """The packages that the extra requires."""
    takes_system_cuda: bool


def planned_framework(framework: FrameworkView) -> PlannedFramework:
    """Return the planned framework; the rule ends if no extra installs its CUDA libraries."""
    own, row, cuda = framework.distribution, known_release_row(framework), framework.cuda_or_missing
    if not framework.machine.gpus or own is None or row is None or not isinstance(cuda, EffectiveCuda):
        not_applicable("not a CUDA build of a known release")
    in_extra = packages_in_extra(framework, row)
    if not in_extra:
        not_applicable(f"{own.label} has no extra that installs CUDA")
    return PlannedFramework(
        distribution=own,
        row=row,
        cuda=cuda,
        in_extra=in_extra,
        takes_system_cuda=takes_system_cuda(framework.observed, cuda, framework.environment.stack),
    )


def known_release_row(framework: FrameworkView) -> FrameworkRelease | None:
    """Return the row of the framework's release; None if its packages or their release are unknown."""
    own, stack = framework.distribution, framework.environment.stack_or_missing
    return None if own is None or isinstance(stack, Missing) else stack.row(own)


def packages_in_extra(framework: FrameworkView, row: FrameworkRelease) -> tuple[str, ...]:
    """Return the packages that the release's CUDA extra requires."""
    extra = framework.spec.gpu_extra
    mark = f'extra=="{extra}"'
    return tuple(text.partition(";")[0] for text in row.requires if extra and mark in text)


def install_framework_with_extra(framework: FrameworkView, row: FrameworkRelease) -> tuple[Fix, ...]:
    """Return the fix that installs the release with its CUDA extra, or another release if its own wheel cannot find the libraries."""
    return install_framework(framework.machine, framework.observed.distribution, near=str(row.release))
