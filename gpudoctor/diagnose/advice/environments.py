"""Fixes that create an environment with another Python version."""

from __future__ import annotations

import shlex

from gpudoctor import versions
from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import VENV
from gpudoctor.diagnose.advice.releases import Pick
from gpudoctor.findings import Fix, FixKind
from gpudoctor.snapshot import Missing, Platform


def new_environment(machine: MachineView, found: Pick, *, kind: FixKind = FixKind.FIX) -> Fix:
    """Return the fix that creates an environment with a Python that the release has a wheel for."""
    plain = [python for python in found.pythons if not python.endswith("t")]
    here = versions.parse(machine.stack_or_missing.python) if not isinstance(machine.stack_or_missing, Missing) else None
    order = sorted(plain, key=lambda text: versions.parse(text) or versions.Version(0))
    below = [text for text in order if here and (versions.parse(text) or here) <= here]
    python = (below or order)[-1]
    return with_python(machine, python, found, kind=kind)


def with_python(machine: MachineView, python: str, found: Pick, *, kind: FixKind = FixKind.FIX) -> Fix:
    """Return the fix that creates an environment with a Python ("3.11") and installs a release there."""
    title = f"Create an environment with Python {python} and install {found.name} there"
    return Fix(title, _command(machine, python, found), (DOWNLOAD,), kind=kind, installs=found.requirements, python=python)


def _command(machine: MachineView, python: str, found: Pick) -> str:
    """Return the shell's command; PowerShell's on Windows."""
    words = shlex.join((*found.requirements, *(("--index-url", found.index) if found.index else ())))
    if machine.site.platform == Platform.WINDOWS:
        return f"py -{python} -m venv training; training\\Scripts\\python -m pip install {words}"
    return f"python{python} -m venv {VENV} && {VENV}/bin/python -m pip install {words}"
