"""GD5: compiled add-ons of a framework: whether they fit its CUDA, its symbols and the GPU."""

from __future__ import annotations

import shlex

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.derive.wheel_platform import LINUX
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import TORCH_INDEX
from gpudoctor.diagnose.rule import need, not_applicable
from gpudoctor.findings import Fix, FixKind
from gpudoctor.frameworks import ADDONS
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Extension, Fact, Framework, Missing

_MOST = 3


def _addons(framework: Framework, machine: MachineView, hardware: Hardware) -> dict[str, list[Extension]]:  # noqa: ARG001
    """The compiled files of the add-ons of a framework, by distribution; ends the rule where there is none."""
    _ = next(view for view in machine.frameworks if view.observed is framework).all_libraries_used
    libraries = need(machine.observed.libraries)
    found: dict[str, list[Extension]] = {}
    for one in libraries.extensions:
        if one.framework == framework.name:
            found.setdefault(one.distribution, []).append(one)
    if not found:
        not_applicable(f"no compiled add-on of {framework.name} is installed")
    return found


def _main(addon: list[Extension]) -> list[Extension]:
    """The libraries that stand for an add-on: those that are known as such, else all."""
    beginnings = ADDONS[addon[0].distribution][1].main if addon[0].distribution in ADDONS else ()
    return [one for one in addon if _file(one).startswith(beginnings)] or addon


def _file(one: Extension) -> str:
    return one.path.rpartition("/")[2]


def _again(addon: Extension, framework: Framework, machine: MachineView, architectures: str = "") -> tuple[Fix, ...]:
    """How to get the add-on for this framework: the release that was published with it, else compiled here."""
    python = machine.observed.python
    build = install_package(python, "--force-reinstall", "--no-deps", "--no-build-isolation", *_source(addon, framework, machine))
    own = f"TORCH_CUDA_ARCH_LIST={shlex.quote(architectures)} " if architectures else ""
    compiled = f"Compile {addon.distribution} against what is installed; that takes nvcc of the framework's CUDA"
    published = _published(addon, framework, machine)
    if published is None:
        return (Fix(compiled, f"{own}{build}", (DOWNLOAD,)),)
    return published, Fix(compiled, f"{own}{build}", (DOWNLOAD,), kind=FixKind.INSTEAD)


_SOURCES = {"torchvision": "https://github.com/pytorch/vision", "torchaudio": "https://github.com/pytorch/audio"}
"""Add-ons whose source is on no index."""


def _source(addon: Extension, framework: Framework, machine: MachineView) -> tuple[str, ...]:
    """What pip is told to compile: the release that fits the framework, where the tables know it, else the one that is there."""
    fitting = _releases(addon, framework, machine)
    release = str(fitting[-1].release) if fitting else addon.version.partition("+")[0]
    if addon.distribution in _SOURCES:
        return (f"{_SOURCES[addon.distribution]}/archive/refs/tags/v{release}.tar.gz",)
    return "--no-binary", addon.distribution, f"{addon.distribution}=={release}"


def _releases(addon: Extension, framework: Framework, machine: MachineView) -> list[FrameworkRelease]:
    """The add-on's releases for this release of the framework and this Python, oldest first."""
    stack = machine.stack_or_missing
    rows = () if isinstance(stack, Missing) else machine.matrix.releases(addon.distribution, stack.platform or LINUX)
    short = "" if isinstance(stack, Missing) else stack.python
    mine = framework.release
    return [
        row
        for row in rows
        if any(text.startswith(f"{framework.name}==") and satisfies(mine, text.removeprefix(framework.name)) for text in row.requires)
        and (not short or not row.pythons or short in row.pythons)
    ]


def _published(addon: Extension, framework: Framework, machine: MachineView) -> Fix | None:
    """The add-on's release for this release of the framework, from the index of its build; None where the tables know none that differs."""
    tag = framework.version.value.partition("+")[2] if isinstance(framework.version, Fact) else ""
    fitting = _releases(addon, framework, machine)
    if not fitting or (str(fitting[-1].release) == addon.version and not tag):
        return None
    index = f"{TORCH_INDEX}/{tag}" if tag.startswith("cu") else ""
    pin = f"{addon.distribution}=={fitting[-1].release}{f'+{tag}' if index else ''}"
    command = install_package(machine.observed.python, "--force-reinstall", "--no-deps", pin, index=index)
    return Fix(f"Install {addon.distribution} in the release for {framework.label}", command, (DOWNLOAD,))
