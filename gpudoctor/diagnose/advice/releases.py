"""Which published release of a framework would work here: with this driver, these GPUs, this platform and this Python, by the tables."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Driver, EffectiveCode, MachineView, Stack
from gpudoctor.derive.cuda import STUB
from gpudoctor.derive.gpu_code import Fit, runs
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.derive.wheel_platform import LINUX
from gpudoctor.frameworks import CudaPlugin, FrameworkSpec, spec_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.tables import TORCH_BUILDS
from gpudoctor.snapshot import Missing
from gpudoctor.versions import Version, parse


class Pick(msgspec.Struct, frozen=True):
    """A release that fits, as an installer is asked for it."""

    name: str
    """For a person: "torch 2.7.1 for CUDA 12.6"."""
    requirements: tuple[str, ...]
    """Pinned, with the parts that must fit it."""
    index: str = ""
    """Where its build is published, where the default index does not have it."""
    release: str = ""
    cuda: Version | None = None
    pythons: tuple[str, ...] = ()
    """Those that have a wheel of it; () where it is for any."""


class _Here(msgspec.Struct, frozen=True):
    """What a release must fit."""

    machine: MachineView
    platform: str
    python: str
    capabilities: tuple[Version, ...]
    accepts: str
    driver: Driver | None = None
    """None where there is none, or where any driver may be supposed."""

    def installable(self, row: FrameworkRelease) -> bool:
        """Whether there is a wheel for this Python, of a release that is accepted."""
        wheel = not self.python or not row.pythons or self.python in row.pythons
        return wheel and satisfies(str(row.release), self.accepts) is not False

    def served(self, cuda: Version | None) -> bool:
        """Whether the driver, where there is one, runs what was built with this CUDA."""
        driver = self.driver
        if cuda is None or driver is None:
            return True
        if self.machine.site.on_wsl:
            return isinstance(driver.cuda_served, Missing) or driver.cuda_served.major >= cuda.major
        floor = self.machine.matrix.driver_floor(cuda, "windows" if self.platform.startswith("win") else "linux")
        least = (floor.minor_version_floor or floor.exact) if floor is not None else None
        return least is None or driver.version >= least

    @property
    def driven(self) -> bool:
        """Whether the driver, where there is one, drives every GPU."""
        if self.driver is None or self.machine.site.on_wsl:
            return True
        bounds = [self.machine.matrix.branches_for(one) for one in self.capabilities]
        row = self.machine.matrix.driver(self.driver.version)
        branch = row.branch if row is not None else self.driver.version.major
        return all((first is None or branch >= first) and (last is None or branch <= last) for first, last in bounds)

    def runs_on_all(self, row: FrameworkRelease) -> bool:
        """Whether it has machine code for every GPU, and so has the cuDNN that it pins, as far as that is known."""
        pinned = next((text for text in row.requires if text.startswith("nvidia-cudnn-cu") and "==" in text), "")
        major = row.built_with_cuda.major if row.built_with_cuda else 0
        version = parse(pinned.partition("==")[2].partition(";")[0]) or row.cudnn
        cudnn = self.machine.matrix.cudnn(version, major, row.platform) if version and version.text.count(".") > 1 else None
        code = EffectiveCode(sass=cudnn.sass, ptx=cudnn.ptx, where="") if cudnn is not None and cudnn.sass is not None else None
        return all(runs(row, one) is Fit.NATIVE and (code is None or runs(code, one) in {Fit.NATIVE, Fit.PTX}) for one in self.capabilities)


def pick(
    machine: MachineView, framework: str, *, accepts: str = "", prefer: str = "", any_driver: bool = False, any_python: bool = False
) -> Pick | None:
    """The newest published release of a framework with CUDA that works here; `prefer` before it, if that one does.

    `accepts` are versions as PEP 440 specifies them. With `any_driver` or `any_python` it may need another of these than is here.
    None where the tables know none.
    """
    here = _here(machine, accepts)
    here = msgspec.structs.replace(here, driver=None if any_driver else here.driver, python="" if any_python else here.python)
    if not here.driven:
        return None
    spec = spec_of(framework)
    if prefer:
        same = msgspec.structs.replace(here, accepts=",".join(filter(None, (accepts, f"=={prefer}"))))
        found = next(_candidates(same, spec), None)
        if found is not None:
            return found
    return next(_candidates(here, spec), None)


def _candidates(here: _Here, spec: FrameworkSpec) -> Iterator[Pick]:
    """The releases of a framework that fit, best first; none of one that is only recognised."""
    if spec.wheel_index:
        return _by_index(here, spec)
    if spec.plugin is not None:
        return _by_plugin(here, spec, spec.plugin)
    return _by_extra(here, spec) if spec.gpu_extra else iter(())


def _here(machine: MachineView, accepts: str) -> _Here:
    stack = machine.stack_or_missing
    platform, python = (stack.platform, stack.python) if isinstance(stack, Stack) else ("", "")
    capabilities = (gpu.capability_or_missing for gpu in machine.gpus if gpu.usable)
    known = dict.fromkeys(capability for capability in capabilities if isinstance(capability, Version))
    driver = machine.driver_or_missing if isinstance(machine.driver_or_missing, Driver) else None
    return _Here(machine, platform or LINUX, python, tuple(known), accepts, driver)


def _rows(here: _Here, distribution: str) -> Iterator[FrameworkRelease]:
    return (row for row in reversed(here.machine.matrix.releases(distribution, here.platform)) if here.installable(row))


def _by_index(here: _Here, spec: FrameworkSpec) -> Iterator[Pick]:
    """Of a framework whose builds for each CUDA are local versions, those of the default index first."""
    for row in _rows(here, spec.name):
        own = _tag(row) if row.accelerator == "cuda" else ""
        for tag in _tags(here, row):
            build = row if tag == own else here.machine.matrix.resolve(spec.name, f"{row.release}+{tag}", here.platform).row
            if build is None or build.built_with_cuda is None or (build.sass is None and here.capabilities):
                continue
            if here.served(build.built_with_cuda) and here.runs_on_all(build):
                yield _of_index(here, spec, row, tag, own=tag == own, cuda=build.built_with_cuda)


def _tag(row: FrameworkRelease) -> str:
    """The local version of the build that the default index has."""
    cuda = row.built_with_cuda
    return f"cu{cuda.major}{cuda.minor}" if cuda is not None else ""


def _tags(here: _Here, row: FrameworkRelease) -> list[str]:
    """The CUDA builds of a release, the one of the default index first, then those of the newest CUDA."""
    others = {one.local for one in here.machine.matrix.rows(TORCH_BUILDS, platform=here.platform) if one.release.short == row.release.short}
    official = {tag for tag in (*row.builds, *others) if tag.startswith("cu") and tag[2:].isdigit()}
    own = _tag(row) if row.accelerator == "cuda" else ""
    return [*filter(None, (own,)), *sorted(official - {own}, key=lambda tag: int(tag[2:]), reverse=True)]


def _of_index(here: _Here, spec: FrameworkSpec, row: FrameworkRelease, tag: str, *, own: bool, cuda: Version) -> Pick:
    """With the companions that are installed, and the local version where the same release may be there in another build."""
    stack = here.machine.stack_or_missing
    installed = stack.distributions if isinstance(stack, Stack) else {}
    same_release = spec.name in installed and installed[spec.name].version.partition("+")[0] == str(row.release)
    plain = own and not same_release
    local = "" if plain else f"+{tag}"
    pins = [f"{spec.name}=={row.release}{local}"]
    for name in spec.companions:
        fitting = (one for one in _rows(msgspec.structs.replace(here, accepts=""), name) if f"{spec.name}=={row.release}" in one.requires)
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


def _by_extra(here: _Here, spec: FrameworkSpec) -> Iterator[Pick]:
    """Of a framework whose CUDA libraries an extra installs."""
    for row in _rows(here, spec.name):
        finds_cuda = _has_extra(row, spec.gpu_extra) and not row.unreachable
        if row.accelerator == "cuda" and finds_cuda and here.served(row.built_with_cuda) and here.runs_on_all(row):
            yield Pick(
                name=f"{spec.title} {row.release} with CUDA",
                requirements=(f"{spec.name}[{spec.gpu_extra}]=={row.release}",),
                release=str(row.release),
                cuda=row.built_with_cuda,
                pythons=row.pythons,
            )


def _by_plugin(here: _Here, spec: FrameworkSpec, plugin: CudaPlugin) -> Iterator[Pick]:
    """Of a framework whose CUDA half is a plugin, for each CUDA that it is published for."""
    known = {str(row.release): row for row in here.machine.matrix.releases(spec.name)}
    found = []
    for major in plugin.majors:
        extra, cuda = f"{plugin.extra}{major}", Version(int(major), text=major)
        for row in reversed(here.machine.matrix.releases(plugin.client_for(major), here.platform)):
            release = ".".join(map(str, row.release[:3]))  # a fourth number is the plugin's own
            own = known.get(release)
            if known and (own is None or not here.installable(own) or not _has_extra(own, extra)):
                continue
            if here.served(row.built_with_cuda or cuda) and here.runs_on_all(row):
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
    """Whether one release has a wheel for this Python, code for every GPU, and a CUDA that the driver serves."""
    here = _here(machine, "")
    return here.installable(row) and here.served(row.built_with_cuda) and here.runs_on_all(row)


def newest(machine: MachineView, distribution: str, *, accepts: str = "") -> str:
    """The newest known release of any distribution with a wheel for this platform and Python; empty where the tables know none."""
    here = _here(machine, accepts)
    return next((str(row.release) for row in _rows(here, distribution) if row.accelerator != STUB), "")
