"""What a recorded machine's diagnosis is, and the part of it that a recipe speaks of; without pytest, so that a machine with a GPU needs none."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.matrix_files import open_matrix
from gpudoctor.snapshot import decode


def again(machine: dict[str, Any]) -> dict[str, Any]:
    """The diagnosis of a recorded machine by today's rules."""
    snapshot = decode(json.dumps(machine["snapshot"]).encode())
    policy = msgspec.convert(machine["policy"], Policy)
    diagnosis: dict[str, Any] = json.loads(msgspec.json.encode(diagnose(snapshot, open_matrix(), policy)))
    return diagnosis


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
