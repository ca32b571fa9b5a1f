"""A recorded machine's diagnosis, and the part that a recipe states; without pytest, which a GPU machine then does not need."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Policy
from gpudoctor.snapshot import decode_snapshot
from tests.machines import store
from tests.shipped import shared_matrix


@cache
def diagnosis(name: str) -> Diagnosis:
    """Return the diagnosis of a recorded machine by today's rules, made once in a process."""
    return diagnose(store.recorded(name), shared_matrix(), store.policy(name))


def again(machine: dict[str, Any]) -> dict[str, Any]:
    """The diagnosis of a machine that is not in the store by today's rules."""
    snapshot = decode_snapshot(json.dumps(machine["snapshot"]).encode())
    return as_json(diagnose(snapshot, shared_matrix(), msgspec.convert(machine["policy"], Policy)))


def as_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis as a report holds it."""
    report: dict[str, Any] = json.loads(msgspec.json.encode(diagnosis))
    return report


def diagnosed(report: dict[str, Any]) -> dict[str, Any]:
    """What a recipe speaks of: the verdict, the root causes in order, what is folded, the notes."""
    findings = report["findings"]
    graver = [finding for finding in findings if finding["severity"] != "note"]
    return {
        "verdict": report["verdict"],
        "roots": [finding["name"] for finding in graver if not finding["because_of"]],
        "folded": [finding["name"] for finding in graver if finding["because_of"]],
        "notes": [finding["name"] for finding in findings if finding["severity"] == "note"],
    }
