"""A framework that is only planned: the extra that installs its CUDA libraries."""

from __future__ import annotations

import msgspec

from gpudoctor.derive import EffectiveCuda, FrameworkView
from gpudoctor.derive.cuda_libraries import takes_system_cuda
from gpudoctor.derive.unknown import not_applicable
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.findings import Fix
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution, Missing


class PlannedFramework(msgspec.Struct, frozen=True, kw_only=True):
    """A known CUDA release whose libraries come with an extra."""

    distribution: Distribution
    row: FrameworkRelease
    cuda: EffectiveCuda
    in_extra: tuple[str, ...]
    """What the extra requires."""
    takes_system_cuda: bool


def planned_framework(framework: FrameworkView) -> PlannedFramework:
    """The planned framework; ends the rule for one whose CUDA libraries no extra installs."""
    own, stack, cuda = framework.distribution, framework.environment.stack_or_missing, framework.cuda_or_missing
    row = None if own is None or isinstance(stack, Missing) else stack.row(own)
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
        takes_system_cuda=takes_system_cuda(framework.observed, cuda, stack),
    )


def packages_in_extra(framework: FrameworkView, row: FrameworkRelease) -> tuple[str, ...]:
    """What a release requires for the extra that installs its CUDA libraries."""
    extra = framework.spec.gpu_extra
    mark = f'extra=="{extra}"'
    return tuple(text.partition(";")[0] for text in row.requires if extra and mark in text)


def install_with_extra(framework: FrameworkView, row: FrameworkRelease) -> tuple[Fix, ...]:
    """The same release with the extra; where its wheel does not find what that installs, one that does, of the same minor if there is one."""
    prefer = str(row.release) if not row.unreachable else f"{row.release.short}.*"
    return install_framework(framework.machine, framework.observed.distribution, prefer=prefer)
