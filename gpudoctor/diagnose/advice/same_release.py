"""Fixes that keep the installed release of a framework: install what it requires and lacks, or install it again with its dependencies."""

from __future__ import annotations

import msgspec

from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.advice.installing import installed_by_conda
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.expressions import expression
from gpudoctor.findings import DOWNLOAD, Action, Fix, FixKind
from gpudoctor.frameworks import spec_of
from gpudoctor.snapshot import Distribution, Missing, Packages, Python

_INDEX_FOLDER = expression(r"cu\d{2,3}|cpu|rocm\d[\d.]*|xpu")
"""A local version that names a folder of PyTorch's index."""

_FINAL_RELEASE = expression(r"\d+(?:\.\d+)*(?:\.post\d+)?")


def install_dependencies(framework: FrameworkView) -> Fix:
    """Return the fix that installs the packages which the installed release requires and which are missing or of other versions."""
    title = f"Install the packages that {framework.spec.title} {framework.release}".rstrip() + " requires"
    return _install_same_release(framework, title, (), Action.INSTALL_PACKAGE)


def reinstall_framework(framework: FrameworkView, *, kind: FixKind = FixKind.FIX) -> Fix:
    """Return the fix that installs the same build of a framework again, with its dependencies."""
    fix = _install_same_release(framework, f"Reinstall {framework.spec.title} and its dependencies", ("--force-reinstall",), None)
    return msgspec.structs.replace(fix, kind=kind)


def _install_same_release(framework: FrameworkView, title: str, options: tuple[str, ...], action: Action | None) -> Fix:
    python = framework.machine.observed.python
    if framework.debian_package:
        return Fix(title, f"sudo apt-get install --reinstall {framework.debian_package}", (DOWNLOAD,), action=action)
    if installed_by_conda(framework.machine, framework.name):
        return Fix(title, _conda_command(framework, options), (DOWNLOAD,), action=action)
    found = pin_and_index(framework)
    if found is None:
        return Fix(f"{title}, from where its build came.", needs=(DOWNLOAD,), action=action)
    pin, index = found
    return install_fix(title, python, pin, options=options, index=index, action=action)


def _conda_command(framework: FrameworkView, options: tuple[str, ...]) -> str:
    """Return the command that installs the same release with conda."""
    packages, python = framework.machine.observed.packages, framework.machine.observed.python
    stems = packages.conda if isinstance(packages, Packages) and isinstance(packages.conda, tuple) else ()
    names = (stem.rsplit("-", 2)[:2] for stem in stems)
    pins = [f"{name}={version}" for name, version in names if name in spec_of(framework.name).conda_names]
    prefix = ("--prefix", shell_path(python.prefix)) if isinstance(python, Python) and isinstance(python.prefix, str) else ()
    return " ".join(("conda install", *prefix, *options, *pins))


def pin_and_index(framework: FrameworkView) -> tuple[str, str] | None:
    """Return the pin of the installed build and the index that has it, "" for the default one; of a build that no index has, its release's.

    None for a pre-release, which no index keeps.
    """
    name, tag = framework.observed.distribution, framework.observed.local_version
    if not name:
        return None
    if not framework.release:
        return name, ""
    if not tag or _is_on_default_index(framework, tag):
        return f"{name}=={framework.release}", ""
    if framework.spec.wheel_index and _INDEX_FOLDER.fullmatch(tag):
        return f"{name}=={framework.release}+{tag}", f"{framework.spec.wheel_index}/{tag}"
    return (f"{name}=={framework.release}", "") if _FINAL_RELEASE.fullmatch(framework.release) else None


def _is_on_default_index(framework: FrameworkView, tag: str) -> bool:
    """Return whether the default index has exactly this build."""
    stack = framework.environment.stack_or_missing
    row = None if isinstance(stack, Missing) else stack.row(Distribution(framework.name, framework.release, ""))
    cuda = row.built_with_cuda if row is not None and row.accelerator == "cuda" else None
    return cuda is not None and tag == f"cu{cuda.major}{cuda.minor}"
