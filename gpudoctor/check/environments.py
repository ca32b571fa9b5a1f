"""Examines every Python environment of this machine as `check --level look` does; the machine itself is looked at once."""

from __future__ import annotations

import os
import sys
import time

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.examination import Examination
from gpudoctor.findings import Level, Policy, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.matrix_files import open_matrix
from gpudoctor.probe.environment_list import MOST, EnvironmentPlace, environments, kernels
from gpudoctor.probe.frameworks import has_framework
from gpudoctor.probe.inventory import Inventory, Patience, Scope
from gpudoctor.probe.observation import finished, target_sections
from gpudoctor.probe.target import Target
from gpudoctor.process import Supervisor
from gpudoctor.report.build import TOOL, build
from gpudoctor.report.environments import EnvironmentRow, EnvironmentsDocument, row
from gpudoctor.report.model import Report
from gpudoctor.snapshot import Missing, Snapshot, readable

_EACH = 15.0
"""Seconds for one environment; a responsive one takes a fifth of a second."""
_LOOK = Policy(level=Level.LOOK)


def list_environments(timeout: float, compat: str | None = None, root: str = "/") -> EnvironmentsDocument:
    """Every environment of this machine, within `timeout` seconds; `root` is the tree of the machine itself. Raises UsageError for tables that cannot be used."""
    until, environ, matrix = time.monotonic() + timeout, dict(os.environ), open_matrix(compat)
    own_packages = (folder for folder in sys.path if folder.endswith("-packages"))
    places = environments(environ, own=sys.prefix, own_has_framework=has_framework(own_packages))
    started = kernels(environ, tuple(place.prefix for place in places))
    with Supervisor(until) as supervisor:
        inventory = Inventory(supervisor, Scope(node=True, root=root))
        inventory.begin()
        machine = finished(inventory)
    report = build(_examined(machine, matrix, Policy(level=Level.LOOK, node=True)))
    first, seen = next(iter(report.causes), None), _Machine(machine, report, matrix)
    return EnvironmentsDocument(
        tool=TOOL,
        created=machine.created,
        summary=report.summary,
        verdict=report.verdict,
        code=first.code if first else None,
        why=first.message if first else report.because,
        environments=tuple(_row(place, started.get(place.prefix, ()), seen, until) for place in places[:MOST]),
        unlisted=max(0, len(places) - MOST),
    )


class _Machine(msgspec.Struct, frozen=True):
    """The machine, which was looked at once."""

    snapshot: Snapshot
    report: Report
    matrix: Matrix


def _row(place: EnvironmentPlace, names: tuple[str, ...], machine: _Machine, until: float) -> EnvironmentRow:
    known: dict[str, object] = {
        "path": readable(place.prefix),
        "python": readable(place.executable),
        "kind": place.kind,
        "active": place.active,
        "kernels": tuple(map(readable, names)),
    }
    seen = _sections(place, until)
    if isinstance(seen, str):
        return row(None, machine.report, {**known, "verdict": Verdict.BROKEN if place.broken else Verdict.UNKNOWN, "why": readable(seen)})
    examination = _examined(msgspec.structs.replace(machine.snapshot, **seen), machine.matrix, _LOOK)
    return row(build(examination), machine.report, known, examination.diagnosis.unproven)


def _sections(place: EnvironmentPlace, until: float) -> dict[str, object] | str:
    """The snapshot's sections about an environment, or why they cannot be read."""
    if place.broken or time.monotonic() > until:
        return place.broken or "there was no time left to look at it; allow more with --timeout"
    with Supervisor(min(until, time.monotonic() + _EACH)) as supervisor:
        inventory = Inventory(supervisor, Scope(), patience=Patience(python=_EACH))
        inventory.ask(Target(place.executable, place.kind))
        seen = target_sections(inventory)
    python = seen["python"]
    return python.reason if isinstance(python, Missing) else seen


def _examined(snapshot: Snapshot, matrix: Matrix, policy: Policy) -> Examination:
    return Examination(snapshot=snapshot, diagnosis=diagnose(snapshot, matrix, policy), policy=policy, matrix_date=matrix.date)
