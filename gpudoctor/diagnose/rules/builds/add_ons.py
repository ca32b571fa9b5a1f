"""Fixes that install or compile an extension for its framework."""

import shlex

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.add_ons import InstalledAddOn
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.derive.wheel_platform import LINUX_X86_64, has_wheel
from gpudoctor.diagnose.advice.packages import REINSTALL, install_command, install_fix
from gpudoctor.findings import DOWNLOAD, Fix, FixKind
from gpudoctor.frameworks import ADDONS, Addon
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Missing


def install_fitting_add_on(framework: FrameworkView, add_on: InstalledAddOn) -> tuple[Fix, ...]:
    """Return fixes that install the release published for this framework, or compile the extension here."""
    published = _install_published(framework, add_on)
    return (
        (compile_add_on(framework, add_on),) if published is None else (published, compile_add_on(framework, add_on, kind=FixKind.INSTEAD))
    )


def compile_add_on(framework: FrameworkView, add_on: InstalledAddOn, capabilities: str = "", *, kind: FixKind = FixKind.FIX) -> Fix:
    """Return the fix that compiles an extension for GPUs of these compute capabilities ("7.5 8.6"); "" leaves the choice to the build."""
    source = _source_arguments(framework, add_on)
    command = install_command(framework.machine.observed.python, *REINSTALL, "--no-build-isolation", *source)
    for_gpus = f"TORCH_CUDA_ARCH_LIST={shlex.quote(capabilities)} " if capabilities else ""
    title = f"Compile {add_on.name} for the installed {framework.label} (needs nvcc of the same CUDA major version)"
    return Fix(title, f"{for_gpus}{command}", (DOWNLOAD,), kind=kind)


def _source_arguments(framework: FrameworkView, add_on: InstalledAddOn) -> tuple[str, ...]:
    """Return what pip compiles: the release for the framework if the tables have one, else the installed release."""
    fitting = releases_for_framework(framework, add_on.name)
    release = str(fitting[-1].release) if fitting else add_on.version.partition("+")[0]
    _, known = ADDONS.get(add_on.name, ("", Addon()))
    if known.source:
        return (f"{known.source}/archive/refs/tags/v{release}.tar.gz",)
    return "--no-binary", add_on.name, f"{add_on.name}=={release}"


def _install_published(framework: FrameworkView, add_on: InstalledAddOn) -> Fix | None:
    """Return the fix that installs the release for this framework; None if the tables have no other release."""
    tag, fitting = framework.observed.local_version, releases_for_framework(framework, add_on.name)
    if not fitting or (str(fitting[-1].release) == add_on.version and not tag):
        return None
    index = f"{framework.spec.wheel_index}/{tag}" if tag.startswith("cu") else ""
    pin = f"{add_on.name}=={fitting[-1].release}{f'+{tag}' if index else ''}"
    title = f"Install the {add_on.name} that matches {framework.label}"
    return install_fix(title, framework.machine.observed.python, pin, options=REINSTALL, index=index)


def releases_for_framework(framework: FrameworkView, name: str) -> list[FrameworkRelease]:
    """Return the releases of a package for this release of the framework and this Python, oldest first."""
    stack = framework.environment.stack_or_missing
    python, platform = ("", LINUX_X86_64) if isinstance(stack, Missing) else (stack.python, stack.platform or LINUX_X86_64)
    rows = framework.machine.matrix.releases(name, platform)
    return [row for row in rows if _pins_framework(row, framework) and (not python or has_wheel(row, python))]


def _pins_framework(row: FrameworkRelease, framework: FrameworkView) -> bool:
    """Return whether a release pins exactly this release of the framework."""
    pins = (text.removeprefix(framework.name) for text in row.requires if text.startswith(f"{framework.name}=="))
    return any(satisfies(framework.release, pin) for pin in pins)
