"""Fixes that install a release of a framework that works here, with pip, uv or conda: whichever installed it before."""

from __future__ import annotations

import functools
from collections.abc import Callable

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Driver, MachineView, Stack
from gpudoctor.derive.gpu_code import Fit
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.environments import create_environment
from gpudoctor.diagnose.advice.packages import install_command, install_fix
from gpudoctor.diagnose.advice.releases import PickedRelease, any_build, installed_cuda_majors, newest_release, pick_release
from gpudoctor.diagnose.advice.requested_packages import replace_requested_package
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.findings import DOWNLOAD, Action, Fix, FixKind
from gpudoctor.frameworks import framework_of, spec_of
from gpudoctor.matrix.builds import GpuBuild
from gpudoctor.snapshot import Missing, Packages, Platform, Python, TextLog


def installed_by_conda(machine: MachineView, framework: str) -> bool:
    """Return whether conda installed the framework in the examined environment."""
    packages, python = machine.observed.packages, machine.observed.python
    if not isinstance(packages, Packages) or not isinstance(python, Python) or python.kind != "conda":
        return False
    own = [distribution.installer for distribution in packages.distributions if distribution.name == framework]
    by_others = any(isinstance(installer, str) and installer not in {"conda", ""} for installer in own)
    stems = packages.conda if isinstance(packages.conda, tuple) else ()
    return not by_others and any(stem.rsplit("-", 2)[0] in spec_of(framework).conda_names for stem in stems)


def install_pick(
    machine: MachineView,
    framework: str,
    found: PickedRelease,
    *,
    title: str = "",
    replace: tuple[str, ...] = (),
    kind: FixKind = FixKind.FIX,
    options: tuple[str, ...] = (),
) -> Fix:
    """Return the fix that installs a picked release, after removing the distributions `replace`; `options` are pip's."""
    python = machine.observed.python
    if installed_by_conda(machine, framework) and isinstance(python, Python):
        title = f"Install {spec_of(framework).title} with CUDA from conda-forge"
        return Fix(title, _conda_command(found, machine, framework, python), (DOWNLOAD,), kind=kind)
    title = f"{title or f'Install {found.name}'}{_driver_condition(machine, found)}"
    replace = tuple(dict.fromkeys((*replace, *_plugins_to_replace(machine, framework, found))))
    fix = install_fix(title, python, *found.requirements, options=options, replace=replace, index=found.index, kind=kind)
    return _update_pip_first(machine, framework, fix)


def _plugins_to_replace(machine: MachineView, framework: str, found: PickedRelease) -> tuple[str, ...]:
    """Return the installed plugins, with their clients, for another major version of CUDA than a release that is to be installed: both would be loaded."""
    plugin, stack = spec_of(framework).plugin, machine.stack_or_missing
    if plugin is None or found.cuda is None or isinstance(stack, Missing) or stack.supposed:
        return ()
    majors = installed_cuda_majors(machine, spec_of(framework)) - {str(found.cuda.major)}
    names = (name for major in sorted(majors) for name in (plugin.plugin_for(major), plugin.client_for(major)))
    return tuple(name for name in names if name in stack.distributions)


def _update_pip_first(machine: MachineView, framework: str, fix: Fix) -> Fix:
    """Return a fix that first updates a pip which skips an extra spelt otherwise in a wheel's metadata: with_cuda of JAX's plugin, with-cuda."""
    packages, since = machine.observed.packages, machine.matrix.bound("pip", "compares-extras")
    others = packages.others if isinstance(packages, Packages) and isinstance(packages.others, tuple) else ()
    release = next((other.removeprefix("pip==") for other in others if other.startswith("pip==")), "")
    installed = versions.parse_version(release)
    if spec_of(framework).plugin is None or installed is None or since is None or installed >= since or " -m pip " not in fix.command:
        return fix
    command = f"{install_command(machine.observed.python, '--upgrade', 'pip')} && {fix.command}"
    return msgspec.structs.replace(
        fix, title=f"Update pip, since pip {release} skips the CUDA libraries, and {fix.title[:1].lower()}{fix.title[1:]}", command=command
    )


def _driver_condition(machine: MachineView, found: PickedRelease) -> str:
    """Return the driver that a release needs, where a text does not state the installed one."""
    if isinstance(machine.driver_or_missing, Driver) or not isinstance(machine.observed.text_log, TextLog):
        return ""
    least = _driver_floor(machine, found)
    return f", if the driver is {least} or newer" if least else ""


def _driver_floor(machine: MachineView, found: PickedRelease) -> versions.Version | None:
    floor = machine.matrix.driver_floor(found.cuda) if found.cuda is not None else None
    return floor.least if floor is not None else None


def _conda_command(found: PickedRelease, machine: MachineView, framework: str, python: Python) -> str:
    """Return the conda command, with the newest CUDA that the driver and the GPUs support as a bound, if one of them is known."""
    served = machine.driver_or_missing.cuda_served if isinstance(machine.driver_or_missing, Driver) else None
    is_bound_by_gpu = any(not isinstance(gpu.capability_or_missing, Missing) for gpu in machine.gpus)
    newest_cuda = found.cuda if is_bound_by_gpu and found.cuda is not None and found.cuda.minor else served
    cuda = f" 'cuda-version<={newest_cuda.short}'" if isinstance(newest_cuda, versions.Version) else ""
    prefix = f"--prefix {shell_path(python.prefix)} " if isinstance(python.prefix, str) else ""
    names = " ".join(f"'{name}'" if "*" in name else name for name in spec_of(framework).conda)
    return f"conda install {prefix}--channel conda-forge {names}{cuda}"


def install_framework(
    machine: MachineView,
    framework: str,
    *,
    accepts: str = "",
    near: str = "",
    title: str = "",
    replace: tuple[str, ...] = (),
    kind: FixKind = FixKind.FIX,
    suits: Callable[[GpuBuild], bool] = any_build,
) -> tuple[Fix, ...]:
    """Return the fixes that install a release that works here; if none does, first what must change, in order.

    If an assumed package requires the framework, that package's releases count instead. `suits` is what else must be true of a build.
    """
    choose = functools.partial(pick_release, machine, framework, accepts=accepts, suits=suits)
    if other := replace_requested_package(machine, framework, kind):
        return other
    found = choose(near=near)
    if found is not None:
        return (install_pick(machine, framework, found, title=title, replace=replace, kind=kind),)
    name = f"{spec_of(framework).title}{f' {accepts}' if accepts else ''}"
    newer_driver = choose(near=near, any_driver=True)
    if newer_driver is not None and isinstance(machine.driver_or_missing, Driver):
        works_with_this = choose(any_python=True, accepts_ptx=True) is not None
        reason = "" if works_with_this else f" (no CUDA build of {name} works with the installed driver)"
        return (
            _update_driver_for(machine, newer_driver, reason, kind),
            install_pick(machine, framework, newer_driver, replace=replace, kind=kind),
        )
    other_python = choose(any_python=True)
    if other_python is not None and other_python.pythons:
        return (create_environment(machine, other_python, kind=kind),)
    both = choose(near=near, any_driver=True, any_python=True)
    if both is not None and both.pythons and isinstance(machine.driver_or_missing, Driver):
        return (_update_driver_for(machine, both, "", kind), create_environment(machine, both, kind=kind))
    return (
        _install_for_jetson(machine, framework, kind)
        or _install_with_ptx(machine, framework, accepts, replace, kind)
        or Fix(
            f"Use another GPU or another framework: no published CUDA build of {name} is known to work on this machine.",
            kind=kind,
            action=Action.REPLACE_HARDWARE,
        ),
    )


def install_other_build(machine: MachineView, framework: str, fit: Fit) -> tuple[Fix, ...]:
    """Return the nearest build with kernels for every GPU; for GPUs that all builds are too old for, first NVIDIA's container."""
    if other := replace_requested_package(machine, framework):
        return other
    fixes, spec = install_framework(machine, framework), spec_of(framework)
    if fit is Fit.TOO_NEW and spec.container and pick_release(machine, framework, any_driver=True, any_python=True) is None:
        container = Fix(f"Use NVIDIA's {spec.title} container, which has kernels for this GPU: {spec.container}", needs=(DOWNLOAD,))
        return (container, *(msgspec.structs.replace(fix, kind=FixKind.INSTEAD) for fix in fixes))
    return fixes


def _install_for_jetson(machine: MachineView, framework: str, kind: FixKind) -> Fix | None:
    """Return the fix that installs NVIDIA's build, which is on no package index; None for another machine than a Jetson."""
    if machine.site.platform != Platform.JETSON:
        return None
    page = spec_of(framework).jetson_page
    return Fix(f"Install NVIDIA's build for this Jetson's JetPack, or use its container: {page}", needs=(DOWNLOAD,), kind=kind)


def _install_with_ptx(machine: MachineView, framework: str, accepts: str, replace: tuple[str, ...], kind: FixKind) -> Fix | None:
    """Return the fix that installs a release with only PTX for a GPU; None if none works."""
    slow = "whose PTX the driver compiles at first use, which can take 30 minutes"
    found = pick_release(machine, framework, accepts=accepts, accepts_ptx=True)
    if found is not None:
        return install_pick(machine, framework, found, title=f"Install {found.name}, {slow}", replace=replace, kind=kind)
    found = pick_release(machine, framework, accepts=accepts, any_python=True, accepts_ptx=True)
    return create_environment(machine, found, kind=kind) if found is not None and found.pythons else None


def _update_driver_for(machine: MachineView, found: PickedRelease, reason: str, kind: FixKind) -> Fix:
    fix = update_driver(machine, _driver_floor(machine, found) or versions.Version(1))
    title = f"{fix.title.removesuffix('.')}{reason}" if reason else fix.title
    return msgspec.structs.replace(fix, title=title, kind=kind, action=Action.UPDATE_DRIVER)


def install_nearest_release(machine: MachineView, distribution: str, *, accepts: str = "") -> tuple[Fix, ...]:
    """Return fixes that install the nearest release for this platform and Python; for a framework, one that works here."""
    stack = machine.stack_or_missing
    own = stack.distributions.get(distribution) if isinstance(stack, Stack) else None
    near = own.version.partition("+")[0] if own is not None else ""
    if framework_of(distribution) == distribution and pick_release(machine, distribution, accepts=accepts, near=near) is not None:
        return install_framework(machine, distribution, accepts=accepts, near=near)
    release = newest_release(machine, distribution, accepts=accepts, near=near)
    if not release:
        return (
            Fix(
                f"Remove {distribution} from the plan: no release is published for this platform and Python.",
                action=Action.REINSTALL_PACKAGE,
                removes=(distribution,),
            ),
        )
    title = f"Install {distribution} {release}, the {'nearest' if near else 'newest'} release for this platform"
    return (install_fix(title, machine.observed.python, f"{distribution}=={release}"),)


def install_another_release(machine: MachineView, framework: str, *, kind: FixKind = FixKind.FIX) -> Fix:
    """Return the fix that installs another release of a framework than the one that failed."""
    installed, name = machine.framework(framework), spec_of(framework).title
    own = None if installed is None else installed.observed
    accepts = f"!={own.release}" if own is not None and own.release else ""
    found = pick_release(machine, framework, accepts=accepts) if machine.hardware else None
    if found is not None:
        return install_pick(machine, framework, found, title=f"Install another release: {found.name}", kind=kind)
    release = newest_release(machine, own.distribution, accepts=accepts) if own is not None and own.distribution else ""
    if own is None or not release:
        return Fix(f"Install another release of {name}.", needs=(DOWNLOAD,), kind=kind)
    title = f"Install another release: {name} {release}"
    return install_fix(title, machine.observed.python, f"{own.distribution}=={release}", kind=kind)
