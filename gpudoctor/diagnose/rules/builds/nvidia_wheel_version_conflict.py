"""GD511: nvidia-wheel-version-conflict."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Stack
from gpudoctor.derive.packages import Violation
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.package_facts import demanded, named_by, refused_cudnn, shown, there, without_cuda
from gpudoctor.diagnose.rule import Explains, not_applicable, rule
from gpudoctor.diagnose.rules.python.packages import _NVIDIA, _contradicted, _unmet
from gpudoctor.findings import Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Distribution, Missing, Python

_SHARED = ("nvidia-cudnn", "nvidia-nccl", "nvidia-nvshmem")
"""Wheels that put files of the same names into the same folder, whichever CUDA they are for (by the wheels' own lists of files)."""


@rule(
    "GD511",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.ENVIRONMENT,
    explains=(Explains(("nccl-version-conflict",), ""),),
)
def nvidia_wheel_version_conflict(stack: Stack, machine: MachineView, python: Python | Missing) -> Iterator[Problem]:
    """NVIDIA's library packages are not the ones that the frameworks require.

    ## Why it matters
    Frameworks bring CUDA as packages (nvidia-cublas-cu12, ...) and state which releases they were built and tested with. Two frameworks
    in one environment share these packages, so one may run with what the other pinned: it mostly works, and fails in odd places where it
    does not. Of cuDNN, NCCL and NVSHMEM the packages for different CUDA releases even hold the same files.

    ## What to do
    Give each framework an environment of its own, or choose releases that agree. cuDNN's version has rules of its own.

    ## References
    - https://pip.pypa.io/en/stable/cli/pip_check/
    """
    if not any(name.startswith(_NVIDIA) for name in stack.distributions) and not stack.contradictions:
        not_applicable("no NVIDIA package is listed")
    named = (
        one for one in stack.violations if named_by(one) == nvidia_wheel_version_conflict.name or (stack.supposed and refused_cudnn(one))
    )
    unmet = [one for one in named if not without_cuda(machine, one.demand.by)]
    for by in dict.fromkeys(one.demand.by for one in unmet):
        mine = [one for one in unmet if one.demand.by == by]
        more = f" (and {len(mine) - 1} more of its requirements are not met)" if len(mine) > 1 else ""
        yield Problem(
            message=_unmet(mine[:1], stack).removesuffix(".") + f"{more}.",
            severity=Severity.ERROR if stack.supposed else None,
            evidence=tuple(row for one in mine for row in (shown(one.found), *demanded([one]))),
            fixes=(
                Fix(f"Install what {by.label} requires", install_package(python, *map(_wanted, mine)), (DOWNLOAD,)),
                _APART,
            ),
        )
    yield from (_contradicted(one) for one in stack.contradictions if one.name.startswith(_NVIDIA))
    yield from _overwritten(stack, python)


def _wanted(one: Violation) -> str:
    return f"{one.found.name}{one.demand.requirement.specifier}"


def _overwritten(stack: Stack, python: Python | Missing) -> Iterator[Problem]:
    """Wheels of one library for two CUDA releases."""
    groups = ([one for name, one in stack.distributions.items() if name.rpartition("-cu")[0] == library] for library in _SHARED)
    twins = [group for group in groups if len(group) > 1]
    if twins:
        every = [one for group in twins for one in group]
        named = "; ".join(" and ".join(one.label for one in group) for group in twins)
        yield Problem(
            message=f"{named} {there(stack, many=True)} and hold the same files: the one installed last is what loads.",
            title="NVIDIA's packages for two CUDA releases overwrite each other's files",
            evidence=tuple(map(shown, every)),
            fixes=(_keep_one(every, stack, python), _APART),
        )


_APART = Fix("Give each framework an environment of its own.", needs=(DOWNLOAD,), kind=FixKind.INSTEAD)


def _keep_one(twins: list[Distribution], stack: Stack, python: Python | Missing) -> Fix:
    """Those that a framework requires, installed over the rest, which go; all of them where nothing says who requires which."""
    required = {demand.requirement.name for demand in stack.demands}
    keep = [one for one in twins if one.name in required]
    libraries = {one.name.rpartition("-cu")[0] for one in keep}
    go = [one for one in twins if one not in keep and one.name.rpartition("-cu")[0] in libraries]
    if not keep or len(keep) > len(libraries):
        newest = {one.name.rpartition("-cu")[0]: one for one in sorted(twins, key=lambda one: one.name)}
        keep = list(newest.values())
        go = [one for one in twins if one not in keep]
    again = install_package(
        python, "--force-reinstall", "--no-deps", *(f"{one.name}=={one.version}" for one in keep), replace=tuple(one.name for one in go)
    )
    return Fix(
        f"Remove {' and '.join(one.label for one in go)}, and reinstall {' and '.join(one.label for one in keep)}", again, (DOWNLOAD,)
    )
