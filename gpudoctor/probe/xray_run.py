"""The X-ray without the rest of a check, for an environment or for files."""

from __future__ import annotations

import os
import sys
import time

from gpudoctor.children.channel import Heard, run
from gpudoctor.children.events import FILES, ReadFile, UnreadFile, said
from gpudoctor.probe.interpreter import interpreter_query, python_of_answer
from gpudoctor.probe.inventory import Inventory, ProbeScope, ProbeTimeouts, own_import_path
from gpudoctor.probe.libraries import xray_arguments, xray_child
from gpudoctor.probe.observation import target_sections
from gpudoctor.probe.script_folder import script_folder
from gpudoctor.probe.target import Target, chosen_target
from gpudoctor.probe.target_facts import TargetFacts, target_facts
from gpudoctor.process import Supervisor
from gpudoctor.snapshot import NOT_ASKED, Missing, Python, printable_text
from gpudoctor.snapshot.xray import EnvironmentXray, File, FilesXray

_LIBRARIES_SECONDS = 60.0
"""Seconds for the libraries."""


def run_xray(scope: ProbeScope, files: tuple[str, ...], patience: float) -> EnvironmentXray | FilesXray:
    """The X-ray of the files, or of the environment if none are named, within `patience` seconds."""
    with Supervisor(time.monotonic() + patience) as supervisor:
        return xray_of_files(supervisor, scope, files) if files else xray_of_environment(supervisor, scope)


def xray_of_environment(supervisor: Supervisor, scope: ProbeScope) -> EnvironmentXray:
    """Raises UsageError if the user named something that is not a Python; one that does not start only costs what depends on it."""
    inventory = Inventory(supervisor, scope, patience=ProbeTimeouts(libraries=_LIBRARIES_SECONDS))
    inventory.ask(chosen_target(scope.python, inventory.environ, sys.executable, own_import_path()))
    seen = target_sections(inventory)
    python = seen["python"]
    return EnvironmentXray(
        python=python.executable if isinstance(python, Python) else printable_text(inventory.target.executable),
        why=inventory.target.why,
        frameworks=() if isinstance(seen["frameworks"], Missing) else seen["frameworks"],
        libraries=seen["libraries"],
        script_folder=script_folder(scope.cwd),
    )


def xray_of_files(supervisor: Supervisor, scope: ProbeScope, paths: tuple[str, ...]) -> FilesXray:
    """Likewise."""
    python, path, chosen, own = _examined_interpreter(supervisor, scope)
    if isinstance(python, Missing):
        return FilesXray(
            printable_text(chosen.executable), tuple(File(printable_text(path), problem=python.reason) for path in paths), python
        )
    words = xray_arguments(python.executable, path, (), scope.root, own)
    named = (word for one in paths for word in ("--file", one))
    outcome = run(supervisor, xray_child((*words, *named), os.environ, stall=20.0, deadline=_LIBRARIES_SECONDS))
    heard = Heard(outcome, FILES, "the X-ray")
    found = [File(**said(event)) for event in heard.events if isinstance(event, ReadFile | UnreadFile)]
    rest = heard.cut or NOT_ASKED
    return FilesXray(python.executable, (*found, *(File(path, problem=rest.reason) for path in paths[len(found) :])), rest)


def _examined_interpreter(supervisor: Supervisor, scope: ProbeScope) -> tuple[Python | Missing, tuple[str, ...], Target, TargetFacts]:
    chosen = chosen_target(scope.python, os.environ, sys.executable, own_import_path())
    outcome = run(supervisor, interpreter_query(chosen.executable, os.environ))
    return *python_of_answer(outcome, chosen, supervisor, os.environ), chosen, target_facts(outcome)
