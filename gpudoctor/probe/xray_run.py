"""The X-ray without the rest of a check, for an environment or for files."""

from __future__ import annotations

import os
import sys
import time

from gpudoctor.children.channel import Heard, run
from gpudoctor.children.events import FILES, ReadFile, UnreadFile, said
from gpudoctor.probe.inside import Inside, inside
from gpudoctor.probe.interpreter import asking, heard
from gpudoctor.probe.inventory import Inventory, Patience, Scope, own_path
from gpudoctor.probe.libraries import arguments, xray
from gpudoctor.probe.observation import target_sections
from gpudoctor.probe.script_folder import script_folder
from gpudoctor.probe.target import Target, target
from gpudoctor.process import Supervisor
from gpudoctor.snapshot import NOT_ASKED, Missing, Python, readable
from gpudoctor.snapshot.xray import EnvironmentXray, File, FilesXray

_LONGEST = 60.0
"""Seconds for the libraries."""


def xray_of(scope: Scope, files: tuple[str, ...], patience: float) -> EnvironmentXray | FilesXray:
    """The X-ray of the files, or of the environment if none are named, within `patience` seconds."""
    with Supervisor(time.monotonic() + patience) as supervisor:
        return of_files(supervisor, scope, files) if files else of_environment(supervisor, scope)


def of_environment(supervisor: Supervisor, scope: Scope) -> EnvironmentXray:
    """Raises UsageError if the user named something that is not a Python; one that does not start only costs what depends on it."""
    inventory = Inventory(supervisor, scope, patience=Patience(libraries=_LONGEST))
    inventory.ask(target(scope.python, inventory.environ, sys.executable, own_path()))
    seen = target_sections(inventory)
    python = seen["python"]
    return EnvironmentXray(
        python=python.executable if isinstance(python, Python) else readable(inventory.target.executable),
        why=inventory.target.why,
        frameworks=() if isinstance(seen["frameworks"], Missing) else seen["frameworks"],
        libraries=seen["libraries"],
        script_folder=script_folder(scope.cwd),
    )


def of_files(supervisor: Supervisor, scope: Scope, paths: tuple[str, ...]) -> FilesXray:
    """Likewise."""
    python, path, chosen, own = _interpreter(supervisor, scope)
    if isinstance(python, Missing):
        return FilesXray(readable(chosen.executable), tuple(File(readable(path), problem=python.reason) for path in paths), python)
    words = arguments(python.executable, path, (), scope.root, own)
    named = (word for one in paths for word in ("--file", one))
    outcome = run(supervisor, xray((*words, *named), os.environ, stall=20.0, deadline=_LONGEST))
    heard = Heard(outcome, FILES, "the X-ray")
    found = [File(**said(event)) for event in heard.events if isinstance(event, ReadFile | UnreadFile)]
    rest = heard.cut or NOT_ASKED
    return FilesXray(python.executable, (*found, *(File(path, problem=rest.reason) for path in paths[len(found) :])), rest)


def _interpreter(supervisor: Supervisor, scope: Scope) -> tuple[Python | Missing, tuple[str, ...], Target, Inside]:
    chosen = target(scope.python, os.environ, sys.executable, own_path())
    outcome = run(supervisor, asking(chosen.executable, os.environ))
    return *heard(outcome, chosen, supervisor, os.environ), chosen, inside(outcome)
