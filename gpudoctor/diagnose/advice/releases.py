"""Picks the published release of a framework that suits this machine, from the tables."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import MachineView, Stack
from gpudoctor.derive.cuda import STUB
from gpudoctor.diagnose.advice.constraints import Constraints, constraints
from gpudoctor.frameworks import CudaPlugin, FrameworkSpec, spec_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.tables import TORCH_BUILDS
from gpudoctor.versions import Version


class Pick(msgspec.Struct, frozen=True):
    """A release that works here, and how to request it from an installer."""

    name: str
    """The name in a fix: "torch 2.7.1 for CUDA 12.6"."""
    requirements: tuple[str, ...]
    """The pinned release and the parts that must match it."""
    index: str = ""
    """The package index of its build; empty for the default index."""
    release: str = ""
    cuda: Version | None = None
    pythons: tuple[str, ...] = ()
    """The Python versions with a wheel of it; () if it works with any."""


def pick(
    machine: MachineView, framework: str, *, accepts: str = "", prefer: str = "", any_driver: bool = False, any_python: bool = False
) -> Pick | None:
    """Return the newest published CUDA release of a framework that works here, or `prefer` if that works; None if the tables have none.

    `accepts` is a PEP 440 specifier. With `any_driver` or `any_python` the release may need another driver or Python.
    """
    here = constraints(machine, accepts)
    here = msgspec.structs.replace(here, driver=None if any_driver else here.driver, python="" if any_python else here.python)
    if not here.driver_supports_gpus:
        return None
    spec = spec_of(framework)
    if prefer:
        same = msgspec.structs.replace(here, accepts=",".join(filter(None, (accepts, f"=={prefer}"))))
        found = next(_candidates(same, spec), None)
        if found is not None:
            return found
    return next(_candidates(here, spec), None)


def _candidates(here: Constraints, spec: FrameworkSpec) -> Iterator[Pick]:
    """Return the releases that work here, best first; nothing for a framework that is only recognised."""
    if spec.wheel_index:
        return _by_index(here, spec)
    if spec.plugin is not None:
        return _by_plugin(here, spec, spec.plugin)
    return _by_extra(here, spec) if spec.gpu_extra else iter(())


def _by_index(here: Constraints, spec: FrameworkSpec) -> Iterator[Pick]:
    """Return the releases of a framework with a local version for each CUDA, the build of the default index first."""
    for row in here.releases(spec.name):
        own = _tag(row) if row.accelerator == "cuda" else ""
        for tag in _tags(here, row):
            build = row if tag == own else here.machine.matrix.resolve(spec.name, f"{row.release}+{tag}", here.platform).row
            if build is None or build.built_with_cuda is None or (build.sass is None and here.capabilities):
                continue
            if here.driver_runs(build.built_with_cuda) and here.runs_on_gpus(build):
                yield _of_index(here, spec, row, tag, own=tag == own, cuda=build.built_with_cuda)


def _tag(row: FrameworkRelease) -> str:
    """Return the local version of the build on the default index."""
    cuda = row.built_with_cuda
    return f"cu{cuda.major}{cuda.minor}" if cuda is not None else ""


def _tags(here: Constraints, row: FrameworkRelease) -> list[str]:
    """Return the CUDA builds of a release: the build of the default index, then the newest CUDA first."""
    builds = here.machine.matrix.rows(TORCH_BUILDS, platform=here.platform)
    others = {build.local for build in builds if build.release.short == row.release.short}
    official = {tag for tag in (*row.builds, *others) if tag.startswith("cu") and tag[2:].isdigit()}
    own = _tag(row) if row.accelerator == "cuda" else ""
    return [*filter(None, (own,)), *sorted(official - {own}, key=lambda tag: int(tag[2:]), reverse=True)]


def _of_index(here: Constraints, spec: FrameworkSpec, row: FrameworkRelease, tag: str, *, own: bool, cuda: Version) -> Pick:
    """Return a release with the installed companions, with its local version if the same release is installed in another build."""
    stack = here.machine.stack_or_missing
    installed = stack.distributions if isinstance(stack, Stack) else {}
    same_release = spec.name in installed and installed[spec.name].version.partition("+")[0] == str(row.release)
    plain = own and not same_release
    local = "" if plain else f"+{tag}"
    pins = [f"{spec.name}=={row.release}{local}"]
    for name in spec.companions:
        fitting = (
            other for other in msgspec.structs.replace(here, accepts="").releases(name) if f"{spec.name}=={row.release}" in other.requires
        )
        found = next(fitting, None) if name in installed else None
        pins += [f"{name}=={found.release}{local}"] if found is not None else []
    return Pick(
        name=f"{spec.name} {row.release} for CUDA {cuda.short}",
        requirements=tuple(pins),
        index="" if plain else f"{spec.wheel_index}/{tag}",
        release=str(row.release),
        cuda=cuda,
        pythons=row.pythons,
    )


def _by_extra(here: Constraints, spec: FrameworkSpec) -> Iterator[Pick]:
    """Return the releases of a framework whose CUDA libraries an extra installs."""
    for row in here.releases(spec.name):
        finds_cuda = _has_extra(row, spec.gpu_extra) and not row.unreachable
        if row.accelerator == "cuda" and finds_cuda and here.driver_runs(row.built_with_cuda) and here.runs_on_gpus(row):
            yield Pick(
                name=f"{spec.title} {row.release} with CUDA",
                requirements=(f"{spec.name}[{spec.gpu_extra}]=={row.release}",),
                release=str(row.release),
                cuda=row.built_with_cuda,
                pythons=row.pythons,
            )


def _by_plugin(here: Constraints, spec: FrameworkSpec, plugin: CudaPlugin) -> Iterator[Pick]:
    """Return the releases of a framework whose CUDA support is a plugin, for each CUDA version of the plugin."""
    known = {str(row.release): row for row in here.machine.matrix.releases(spec.name)}
    found = []
    for major in plugin.majors:
        extra, cuda = f"{plugin.extra}{major}", Version(int(major), text=major)
        for row in reversed(here.machine.matrix.releases(plugin.client_for(major), here.platform)):
            release = ".".join(map(str, row.release[:3]))  # a fourth number is the plugin's own
            own = known.get(release)
            if known and (own is None or not here.installable(own) or not _has_extra(own, extra)):
                continue
            if here.driver_runs(row.built_with_cuda or cuda) and here.runs_on_gpus(row):
                found.append((row.release[:3], _of_plugin(spec, release, extra, cuda, own)))
    yield from (one for _, one in sorted(found, key=lambda item: item[0], reverse=True))


def _of_plugin(spec: FrameworkSpec, release: str, extra: str, cuda: Version, own: FrameworkRelease | None) -> Pick:
    return Pick(
        name=f"{spec.title} {release} for CUDA {cuda}",
        requirements=(f"{spec.name}[{extra}]=={release}",),
        release=release,
        cuda=cuda,
        pythons=own.pythons if own else (),
    )


def _has_extra(row: FrameworkRelease, extra: str) -> bool:
    return any(text.endswith(f'extra=="{extra}"') for text in row.requires)


def works_here(machine: MachineView, row: FrameworkRelease) -> bool:
    """Return whether a release has a wheel for this Python, kernels for every GPU, and a CUDA that the driver supports."""
    here = constraints(machine)
    return here.installable(row) and here.driver_runs(row.built_with_cuda) and here.runs_on_gpus(row)


def newest(machine: MachineView, distribution: str, *, accepts: str = "") -> str:
    """Return the newest release of a distribution with a wheel for this platform and Python; empty if the tables have none."""
    here = constraints(machine, accepts)
    return next((str(row.release) for row in here.releases(distribution) if row.accelerator != STUB), "")
