"""Records which fields of a snapshot the rules read, by running them."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.engine import RuleRun, run_rules
from gpudoctor.diagnose.rule_choice import choose_rules
from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Missing, Snapshot


class FieldsRead:
    """The fields that were read: structs and fields, by name."""

    def __init__(self) -> None:
        self.read: set[tuple[str, str]] = set()


def recorded_runs(snapshot: Snapshot, matrix: Matrix, policy: Policy, record: FieldsRead) -> list[RuleRun]:
    """Return what the rules find on a machine, and add the fields that they read to the record."""
    return run_rules(choose_rules(RULES, policy), MachineView(recording_copy(snapshot, record), matrix, policy))


def recording_copy(value: Any, record: FieldsRead) -> Any:
    """Return a copy of a snapshot, or of a part of one, that records each field that is read of it."""
    if isinstance(value, tuple):
        return tuple(recording_copy(item, record) for item in value)
    if isinstance(value, Missing) or not isinstance(value, msgspec.Struct):
        return value
    fields = {name: recording_copy(getattr(value, name), record) for name in value.__struct_fields__}
    return _recording_type(type(value))(**fields, record_=record)


@cache
def _recording_type(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a subclass of a struct that records what is read of it."""
    fields = frozenset(kind.__struct_fields__)

    def noted(self: object, name: str) -> Any:
        if name in fields:
            object.__getattribute__(self, "record_").read.add((kind.__name__, name))
        return object.__getattribute__(self, name)

    made = msgspec.defstruct(kind.__name__, [("record_", Any)], bases=(kind,), frozen=True, kw_only=True)
    made.__getattribute__ = noted  # type: ignore[method-assign]
    return made
