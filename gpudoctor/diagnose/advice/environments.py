"""Fixes that create an environment with another Python version."""

from __future__ import annotations

import shlex

from gpudoctor import versions
from gpudoctor.derive import EnvironmentView, MachineView
from gpudoctor.diagnose.advice.packages import VENV
from gpudoctor.diagnose.advice.releases import PickedRelease
from gpudoctor.findings import DOWNLOAD, Fix, FixKind
from gpudoctor.frameworks import spec_of, stack_of
from gpudoctor.snapshot import Missing, Platform

_MAX_REQUIREMENTS = 8
"""Requirements in one command; a file lists more."""


def create_environment(machine: MachineView, found: PickedRelease, *, kind: FixKind = FixKind.FIX) -> Fix:
    """Return the fix that creates an environment with a Python that the release has a wheel for."""
    plain = [python for python in found.pythons if not python.endswith("t")]
    here = versions.parse_version(machine.stack_or_missing.python) if not isinstance(machine.stack_or_missing, Missing) else None
    order = sorted(plain, key=lambda text: versions.parse_version(text) or versions.Version(0))
    below = [text for text in order if here and (versions.parse_version(text) or here) <= here]
    python = below[-1] if below else order[0 if here else -1]
    return create_environment_with_python(machine, python, found, kind=kind)


def create_environment_with_python(
    machine: MachineView, python: str, found: PickedRelease, *, about: str = "", kind: FixKind = FixKind.FIX
) -> Fix:
    """Return the fix that creates an environment with a Python ("3.11") and installs a release there; `about` says more of this Python."""
    title = f"Create an environment with Python {python}{f', {about},' if about else ''} and install {found.name} there"
    return Fix(title, _creation_command(machine, python, found), (DOWNLOAD,), kind=kind, installs=found.requirements, python=python)


def reinstall_with_python(environment: EnvironmentView, python: str, label: str, pin: str, *, about: str = "") -> Fix:
    """Return the fix that installs what was stated with another Python, which `about` says more of; of a long list only `pin`."""
    stack = environment.stack
    stated = [distribution for distribution in stack.distributions.values() if distribution.requirement]
    wanted = {distribution.name: distribution.requirement for distribution in stated} | {
        name: bound.requirement.text for name, bound in stack.bounds.items()
    }
    builds = {(spec_of(stack_of(distribution.name) or "").wheel_index, distribution.version.partition("+")[2]) for distribution in stated}
    indexes = sorted(f"{index}/{local}" for index, local in builds if index and local.startswith("cu"))
    requirements = tuple(wanted.values()) if len(wanted) <= _MAX_REQUIREMENTS else (pin,)
    return create_environment_with_python(
        environment.machine, python, PickedRelease(label, requirements, extra_index=next(iter(indexes), "")), about=about
    )


def _creation_command(machine: MachineView, python: str, found: PickedRelease) -> str:
    """Return the shell's command; PowerShell's on Windows."""
    indexes = (("--index-url", found.index), ("--extra-index-url", found.extra_index))
    words = shlex.join((*found.requirements, *(word for option in indexes if option[1] for word in option)))
    if machine.site.platform == Platform.WINDOWS:
        return f"py -{python} -m venv training; training\\Scripts\\python -m pip install {words}"
    return f"python{python} -m venv {VENV} && {VENV}/bin/python -m pip install {words}"
