"""The recorded machines: each has its snapshot, or the changes from the snapshot of another, its base."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from gpudoctor.findings import Policy
from gpudoctor.snapshot import Snapshot, decode_snapshot
from tests.machines import delta

STEP: Final = 1500
"""Bytes that a base must save to be one step further from a whole snapshot."""
WIDTH: Final = 140


class Store:
    """A folder of recorded machines, each file read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, dict[str, Any]] = {}
        self._snapshots: dict[str, bytes] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all machines, sorted."""
        return tuple(sorted(file.stem for file in self._folder.glob("*.json")))

    def file(self, name: str) -> dict[str, Any]:
        """Return the content of a machine's file, not to be changed."""
        if name not in self._files:
            self._files[name] = json.loads((self._folder / f"{name}.json").read_bytes())
        return self._files[name]

    def snapshot(self, name: str) -> bytes:
        """Return the snapshot of a machine as JSON."""
        if name not in self._snapshots:
            machine = self.file(name)
            snapshot = msgspec.json.decode(self.snapshot(machine["base"])) if "base" in machine else machine["snapshot"]
            delta.apply(machine.get("changes", {}), snapshot)
            self._snapshots[name] = msgspec.json.encode(snapshot)
        return self._snapshots[name]

    def load(self, name: str) -> dict[str, Any]:
        """Return a copy of everything known of a machine: about, made, policy, expect and snapshot."""
        told = {key: value for key, value in self.file(name).items() if key not in {"base", "changes", "snapshot"}}
        machine: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(told))
        return machine | {"snapshot": msgspec.json.decode(self.snapshot(name))}

    def keep(self, name: str, machine: dict[str, Any]) -> None:
        """Write a machine in the format of `load`, and rewrite those based on it: their snapshots do not change."""
        children = {other: self.load(other) for other in self.names if self._base(other) == name}
        self._write(name, machine, self._best_base(name, machine["snapshot"]))
        for child, as_it_is in children.items():
            self._write(child, as_it_is, name)

    def _write(self, name: str, machine: dict[str, Any], base: str) -> None:
        told = {key: value for key, value in machine.items() if key != "snapshot"}
        kept = {"base": base, "changes": self._changes(base, machine["snapshot"])} if base else {"snapshot": machine["snapshot"]}
        (self._folder / f"{name}.json").write_text(_laid_out(told | kept) + "\n")
        self._files.pop(name, None)
        self._snapshots.pop(name, None)

    def _best_base(self, name: str, snapshot: dict[str, Any]) -> str:
        """Return the machine with the fewest changes to `snapshot`, or none if they take half of its size.

        A machine stored whole stays whole.
        """
        others = [other for other in self.names if name not in self._ancestry(other)]
        if not others or (name in self.names and not self._base(name)):
            return ""
        sizes = {other: delta.size(self._changes(other, snapshot)) for other in others}
        best = min(others, key=lambda other: (sizes[other] + STEP * len(self._ancestry(other)), other))
        return best if sizes[best] < delta.size(snapshot) / 2 else ""

    def _changes(self, base: str, snapshot: dict[str, Any]) -> delta.Changes:
        return delta.difference(msgspec.json.decode(self.snapshot(base)), snapshot)

    def _ancestry(self, name: str) -> list[str]:
        """Return a machine, its base, the base of that, and so on to a whole snapshot."""
        base = self._base(name)
        return [name, *(self._ancestry(base) if base else ())]

    def _base(self, name: str) -> str:
        return str(self.file(name).get("base", ""))


RECORDED: Final = Store(Path(__file__).parent)
NAMES: Final = RECORDED.names
load = RECORDED.load


@cache
def recorded(name: str) -> Snapshot:
    """Return the snapshot of a recorded machine."""
    return decode_snapshot(RECORDED.snapshot(name))


@cache
def policy(name: str) -> Policy:
    """Return the policy under which a recorded machine was examined."""
    return msgspec.convert(RECORDED.file(name)["policy"], Policy)


def _laid_out(value: Any, indent: int = 0, before: int = 0) -> str:
    """Return JSON with as much on a line as fits; `before` is what is on the line already."""
    line = json.dumps(value)
    if before + len(line) < WIDTH or not value or not isinstance(value, dict | list):
        return line
    inner, keys = "\n" + " " * (indent + 1), [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    parts = value.values() if isinstance(value, dict) else value
    lines = [key + _laid_out(part, indent + 1, indent + 1 + len(key)) for key, part in zip(keys, parts, strict=True)]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return begin + inner + f",{inner}".join(lines) + "\n" + " " * indent + end
