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
from gpudoctor.probe.environment_list import MAX_ENVIRONMENTS, EnvironmentPlace, environments, jupyter_kernels
from gpudoctor.probe.frameworks import has_framework
from gpudoctor.probe.inventory import Inventory, ProbeScope, ProbeTimeouts
from gpudoctor.probe.observation import finished_snapshot, target_sections
from gpudoctor.probe.target import Target
from gpudoctor.process import Supervisor
from gpudoctor.report.build import TOOL, build_report
from gpudoctor.report.environments import EnvironmentRow, EnvironmentsDocument, environment_row
from gpudoctor.report.model import Report
from gpudoctor.snapshot import Missing, Snapshot, printable_text

_SECONDS_EACH = 15.0
"""Seconds for one environment; a responsive one takes a fifth of a second."""
_LOOK_POLICY = Policy(level=Level.LOOK)


def list_environments(timeout: float, compat: str | None = None, root: str = "/") -> EnvironmentsDocument:
    """Every environment of this machine, within `timeout` seconds; `root` is the tree of the machine itself. Raises UsageError for tables that cannot be used."""
    until, environ, matrix = time.monotonic() + timeout, dict(os.environ), open_matrix(compat)
    own_packages = (folder for folder in sys.path if folder.endswith("-packages"))
    places = environments(environ, own=sys.prefix, own_has_framework=has_framework(own_packages))
    started = jupyter_kernels(environ, tuple(place.prefix for place in places))
    with Supervisor(until) as supervisor:
        inventory = Inventory(supervisor, ProbeScope(node=True, root=root))
        inventory.begin()
        machine = finished_snapshot(inventory)
    report = build_report(_examination(machine, matrix, Policy(level=Level.LOOK, node=True)))
    first, seen = next(iter(report.causes), None), _ExaminedMachine(machine, report, matrix)
    return EnvironmentsDocument(
        tool=TOOL,
        created=machine.created,
        summary=report.summary,
        verdict=report.verdict,
        code=first.code if first else None,
        why=first.message if first else report.because,
        environments=tuple(_environment_row(place, started.get(place.prefix, ()), seen, until) for place in places[:MAX_ENVIRONMENTS]),
        unlisted=max(0, len(places) - MAX_ENVIRONMENTS),
    )


class _ExaminedMachine(msgspec.Struct, frozen=True):
    """The machine, which was looked at once."""

    snapshot: Snapshot
    report: Report
    matrix: Matrix


def _environment_row(place: EnvironmentPlace, names: tuple[str, ...], machine: _ExaminedMachine, until: float) -> EnvironmentRow:
    known: dict[str, object] = {
        "path": printable_text(place.prefix),
        "python": printable_text(place.executable),
        "kind": place.kind,
        "active": place.active,
        "kernels": tuple(map(printable_text, names)),
    }
    seen = _environment_sections(place, until)
    if isinstance(seen, str):
        return environment_row(
            None, machine.report, {**known, "verdict": Verdict.BROKEN if place.broken else Verdict.UNKNOWN, "why": printable_text(seen)}
        )
    examination = _examination(msgspec.structs.replace(machine.snapshot, **seen), machine.matrix, _LOOK_POLICY)
    return environment_row(build_report(examination), machine.report, known, examination.diagnosis.unproven)


def _environment_sections(place: EnvironmentPlace, until: float) -> dict[str, object] | str:
    """The snapshot's sections about an environment, or why they cannot be read."""
    if place.broken or time.monotonic() > until:
        return place.broken or "there was no time left to look at it; allow more with --timeout"
    with Supervisor(min(until, time.monotonic() + _SECONDS_EACH)) as supervisor:
        inventory = Inventory(supervisor, ProbeScope(), patience=ProbeTimeouts(python=_SECONDS_EACH))
        inventory.ask(Target(place.executable, place.kind))
        seen = target_sections(inventory)
    python = seen["python"]
    return python.reason if isinstance(python, Missing) else seen


def _examination(snapshot: Snapshot, matrix: Matrix, policy: Policy) -> Examination:
    return Examination(snapshot=snapshot, diagnosis=diagnose(snapshot, matrix, policy), policy=policy, matrix_date=matrix.date)
