"""Picks the published release of a framework that suits this machine, from the tables."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import msgspec

from gpudoctor.derive import MachineView, Stack, wheel_platform
from gpudoctor.derive.cuda import STUB_ACCELERATOR
from gpudoctor.derive.nearness import nearness_order
from gpudoctor.diagnose.advice.constraints import Constraints, constraints
from gpudoctor.findings.wording import joined_words
from gpudoctor.frameworks import FrameworkSpec, spec_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.builds import GpuBuild, cuda_builds
from gpudoctor.snapshot import Distribution, Fact, Framework, Missing
from gpudoctor.versions import Version

_LOCAL_VERSIONS_SINCE = Version(1, 8)
"""From this PyTorch on, its index has the default build under a local version too: https://pytorch.org/get-started/previous-versions/"""
_KINDS_WITHOUT_WHEEL = {STUB_ACCELERATOR, "sdist", "repository"}


class PickedRelease(msgspec.Struct, frozen=True):
    """A release that works here, and how to request it from an installer."""

    name: str
    """The name in a fix: "torch 2.7.1 for CUDA 12.6"."""
    requirements: tuple[str, ...]
    """The pinned release and the parts that must match it."""
    index: str = ""
    """The package index of its build; empty for the default index."""
    extra_index: str = ""
    """An index beside the default one, which has only some of the requirements."""
    release: str = ""
    cuda: Version | None = None
    pythons: tuple[str, ...] = ()
    """The Python versions with a wheel of it; () if it works with any."""


def any_build(_build: GpuBuild) -> bool:
    """Return True, for any build."""
    return True


def pick_release(
    machine: MachineView,
    framework: str,
    *,
    accepts: str = "",
    near: str = "",
    any_driver: bool = False,
    any_python: bool = False,
    accepts_ptx: bool = False,
    suits: Callable[[GpuBuild], bool] = any_build,
) -> PickedRelease | None:
    """Return the published CUDA release of a framework that works here and is nearest to `near`; None if the tables have none.

    Without `near`, nearest to the release that is installed or stated; the newest if there is none.

    `accepts` is a PEP 440 specifier. With `any_driver` or `any_python` the release may need another driver or Python;
    with `accepts_ptx` it may have only PTX for a GPU. `suits` is what else must be true of a build.
    """
    here = constraints(machine, accepts)
    here = msgspec.structs.replace(
        here, driver=None if any_driver else here.driver, pythons=() if any_python else here.pythons, accepts_ptx=accepts_ptx
    )
    if not here.driver_supports_gpus:
        return None
    spec = spec_of(framework)
    candidates = _working_releases(here, spec, near or _installed_release(machine, framework), suits)
    first, majors = next(candidates, None), installed_cuda_majors(machine, spec)
    if first is None or not majors:
        return first
    same = itertools.takewhile(lambda one: one.release == first.release, candidates)
    kept = (one for one in (first, *same) if one.cuda is not None and str(one.cuda.major) in majors)  # two plugins side by side fail
    return next(kept, first)


def installed_cuda_majors(machine: MachineView, spec: FrameworkSpec) -> frozenset[str]:
    """Return the major versions of CUDA that the installed plugins of a framework are for."""
    stack = machine.stack_or_missing
    names = () if isinstance(stack, Missing) or spec.plugin is None else stack.distributions
    return frozenset(major for name in names if spec.plugin is not None and (major := spec.plugin.major(name)))


def _installed_release(machine: MachineView, framework: str) -> str:
    """Return the release of a framework that is installed or stated; empty if there is none."""
    installed = machine.framework(framework)
    return "" if installed is None else installed.release


def _working_releases(here: Constraints, spec: FrameworkSpec, near: str, suits: Callable[[GpuBuild], bool]) -> Iterator[PickedRelease]:
    """Return the releases that work here, best first; nothing for a framework that is only recognised."""
    for build in here.builds(spec, near):
        unknown = build.code.sass is None and build.tag and here.capabilities
        loads = here.loads(build.release, of_index=build.default) and all(map(here.loads, here.pinned(build.release, build.extra)))
        if not here.is_installable(build.release) or not loads or unknown or build.release.unreachable or not suits(build):
            continue
        found = _pick_from_index(here, spec, build) if spec.wheel_index else _pick_from_extra(here, spec, build)
        if not here.pythons or not found.pythons or not set(here.pythons).isdisjoint(found.pythons):
            yield found


def _pick_from_index(here: Constraints, spec: FrameworkSpec, build: GpuBuild) -> PickedRelease:
    """Return a release with the installed companions, with its local version if the same release is, or may be, installed in another build."""
    stack = here.machine.stack_or_missing
    installed = stack.distributions if isinstance(stack, Stack) else {}
    unknown = isinstance(stack, Missing) and build.release.release >= _LOCAL_VERSIONS_SINCE
    same_release = unknown or (spec.name in installed and installed[spec.name].version.partition("+")[0] == build.number)
    plain = build.default and not same_release
    local = "" if plain else f"+{build.tag}"
    pins = [f"{spec.name}=={build.number}{local}"]
    for name in spec.companions:
        fitting = (
            other for other in msgspec.structs.replace(here, accepts="").releases(name) if f"{spec.name}=={build.number}" in other.requires
        )
        found = next(fitting, None) if name in installed else None
        pins += [f"{name}=={found.release}{local}"] if found is not None else []
    return PickedRelease(
        name=f"{spec.name} {build.number} for CUDA {build.cuda.short if build.cuda else ''}",
        requirements=tuple(pins),
        index="" if plain else f"{spec.wheel_index}/{build.tag}",
        release=build.number,
        cuda=build.cuda,
        pythons=build.release.pythons,
    )


def _pick_from_extra(here: Constraints, spec: FrameworkSpec, build: GpuBuild) -> PickedRelease:
    """Return a release whose CUDA half an extra installs, for the Python versions with a wheel of both."""
    lists = [set(row.pythons) for row in here.pinned(build.release, build.extra) if row.pythons]
    kind = f"for CUDA {build.cuda.major}" if spec.plugin is not None and build.cuda else "with CUDA"
    return PickedRelease(
        name=f"{spec.title} {build.number} {kind}",
        requirements=(f"{spec.name}[{build.extra}]=={build.number}",),
        release=build.number,
        cuda=build.cuda,
        pythons=tuple(python for python in build.release.pythons if all(python in others for others in lists)),
    )


def is_release_working(machine: MachineView, row: FrameworkRelease) -> bool:
    """Return whether a release has a wheel for this Python, kernels for every GPU, and a CUDA that the driver supports."""
    here = constraints(machine)
    return here.is_installable(row) and here.is_cuda_supported(row.built_with_cuda) and here.has_kernels_for_gpus(row)


def newest_release(machine: MachineView, distribution: str, *, accepts: str = "", near: str = "") -> str:
    """Return the newest release of a distribution with a wheel for this platform and Python, or the nearest to `near`; "" if the tables have none."""
    here = constraints(machine, accepts)
    found = [str(row.release) for row in here.releases(distribution) if row.accelerator not in _KINDS_WITHOUT_WHEEL]
    return min(found, key=lambda release: nearness_order(release, near), default="")


def nearest_release(machine: MachineView, to: Distribution, suits: Callable[[FrameworkRelease], bool]) -> str:
    """Return the nearest release of a distribution that suits and, if it has GPU code, works here; "" if the tables have none."""
    rows = (row for row in constraints(machine).releases(to.name) if row.accelerator not in _KINDS_WITHOUT_WHEEL)
    fitting = (str(row.release) for row in rows if suits(row) and (row.accelerator != "cuda" or is_release_working(machine, row)))
    return min(fitting, key=lambda release: nearness_order(release, to.version), default="")


def other_builds_clause(machine: MachineView, framework: Framework) -> str:
    """Return which other builds of a release the tables list, as the end of a sentence; "" if its version names no build, or they list none."""
    version = framework.version.value if isinstance(framework.version, Fact) else ""
    number, local = version.partition("+")[::2]
    platform = wheel_platform.platform_name(machine.observed.host, machine.observed.python)
    listed = (build for build in cuda_builds(machine.matrix, spec_of(framework.name), platform) if build.number == number and build.tag)
    tags = sorted(f"+{build.tag}" for build in listed)
    known = local and tags and framework.distribution == framework.name
    return f"; the tables list {joined_words(tags)} of {framework.name} {number}" if known else ""
