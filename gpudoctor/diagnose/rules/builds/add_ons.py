"""How to get a compiled add-on that fits its framework."""

from __future__ import annotations

import shlex

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.add_ons import AddOn
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.derive.wheel_platform import LINUX
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.findings import Fix, FixKind
from gpudoctor.frameworks import ADDONS, Addon
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Missing


def fitting_add_on(framework: FrameworkView, add_on: AddOn) -> tuple[Fix, ...]:
    """Install the release that was published for this framework, or compile the add-on here."""
    published = _install_published(framework, add_on)
    return (
        (compile_add_on(framework, add_on),) if published is None else (published, compile_add_on(framework, add_on, kind=FixKind.INSTEAD))
    )


def compile_add_on(framework: FrameworkView, add_on: AddOn, capabilities: str = "", *, kind: FixKind = FixKind.FIX) -> Fix:
    """Compile the add-on against what is installed, for GPUs of these compute capabilities ("7.5 8.6"); "" leaves them to the build."""
    source = _source(framework, add_on)
    command = install_package(framework.machine.observed.python, "--force-reinstall", "--no-deps", "--no-build-isolation", *source)
    for_gpus = f"TORCH_CUDA_ARCH_LIST={shlex.quote(capabilities)} " if capabilities else ""
    title = f"Compile {add_on.name} against what is installed; that takes nvcc of the framework's CUDA"
    return Fix(title, f"{for_gpus}{command}", (DOWNLOAD,), kind=kind)


def _source(framework: FrameworkView, add_on: AddOn) -> tuple[str, ...]:
    """What pip is told to compile: the release for the framework where the tables know it, else the installed one."""
    fitting = published_with(framework, add_on.name)
    release = str(fitting[-1].release) if fitting else add_on.version.partition("+")[0]
    _, known = ADDONS.get(add_on.name, ("", Addon()))
    if known.source:
        return (f"{known.source}/archive/refs/tags/v{release}.tar.gz",)
    return "--no-binary", add_on.name, f"{add_on.name}=={release}"


def _install_published(framework: FrameworkView, add_on: AddOn) -> Fix | None:
    """Install the release for this framework from the index of its build; None where the tables know none that differs."""
    tag, fitting = framework.observed.local_version, published_with(framework, add_on.name)
    if not fitting or (str(fitting[-1].release) == add_on.version and not tag):
        return None
    index = f"{framework.spec.wheel_index}/{tag}" if tag.startswith("cu") else ""
    pin = f"{add_on.name}=={fitting[-1].release}{f'+{tag}' if index else ''}"
    command = install_package(framework.machine.observed.python, "--force-reinstall", "--no-deps", pin, index=index)
    return Fix(f"Install {add_on.name} in the release for {framework.label}", command, (DOWNLOAD,))


def published_with(framework: FrameworkView, name: str) -> list[FrameworkRelease]:
    """The releases of an add-on for this release of the framework and this Python, oldest first."""
    stack = framework.environment.stack_or_missing
    python, platform = ("", LINUX) if isinstance(stack, Missing) else (stack.python, stack.platform or LINUX)
    rows = framework.machine.matrix.releases(name, platform)
    return [row for row in rows if _requires(row, framework) and (not python or not row.pythons or python in row.pythons)]


def _requires(row: FrameworkRelease, framework: FrameworkView) -> bool:
    """Whether a release of an add-on is for exactly this release of the framework."""
    pins = (text.removeprefix(framework.name) for text in row.requires if text.startswith(f"{framework.name}=="))
    return any(satisfies(framework.release, pin) for pin in pins)
