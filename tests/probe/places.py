"""Folders that look like part of a machine, and a look at a whole one, for the tests of the probes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from gpudoctor.probe.inventory import Inventory, ProbeScope, ProbeTimeouts
from gpudoctor.probe.observation import finished_snapshot
from gpudoctor.process import Supervisor
from gpudoctor.snapshot import Snapshot, decode_snapshot, encode_snapshot

Content = str | bytes
EMPTY = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/home/alice"}

SHORT = ProbeTimeouts(hardware_stall=0.6, hardware=20.0, python=0.6)


def plant(root: Path, files: Mapping[str, Content]) -> str:
    """Write the files below `root` and return its path."""
    for path, content in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(root)


def look(scope: ProbeScope, environ: Mapping[str, str] = EMPTY, patience: ProbeTimeouts | None = None) -> tuple[Snapshot, Inventory]:
    """A whole inventory; the snapshot has been through JSON."""
    with Supervisor(time.monotonic() + 60) as supervisor:
        inventory = Inventory(supervisor, scope, environ, patience)
        inventory.begin()
        snapshot = finished_snapshot(inventory)
    assert decode_snapshot(encode_snapshot(snapshot)) == snapshot
    return snapshot, inventory
