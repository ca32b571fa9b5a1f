"""Folders that look like part of a machine, and a look at a whole one, for the tests of the probes."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from gpudoctor.probe.inventory import Inventory, Patience, Scope
from gpudoctor.probe.observation import finished
from gpudoctor.process import Supervisor
from gpudoctor.snapshot import Snapshot, decode, encode

Content = str | bytes
EMPTY = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/home/alice"}

SHORT = Patience(hardware_stall=0.6, hardware=20.0, python=0.6)


def plant(root: Path, files: Mapping[str, Content]) -> str:
    """Write the files below `root` and return its path."""
    for path, content in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(root)


def look(scope: Scope, environ: Mapping[str, str] = EMPTY, patience: Patience | None = None) -> tuple[Snapshot, Inventory]:
    """A whole inventory; the snapshot has been through JSON."""
    with Supervisor(time.monotonic() + 60) as supervisor:
        inventory = Inventory(supervisor, scope, environ, patience)
        inventory.begin()
        snapshot = finished(inventory)
    assert decode(encode(snapshot)) == snapshot
    return snapshot, inventory
