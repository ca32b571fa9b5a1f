"""A defect in any probe costs its own section: the rest is reported, and the exit code is 4."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType
from typing import Any

import pytest

from gpudoctor.check.model import CheckOptions
from gpudoctor.check.run import examine_machine
from gpudoctor.exit_codes import CRASHED
from gpudoctor.findings import Level, Policy
from gpudoctor.probe import inventory, kernel_side, observation, surroundings
from gpudoctor.snapshot import Snapshot
from gpudoctor.snapshot.gaps import missing_values


def _probes() -> list[tuple[ModuleType, str]]:
    """Every probe that is called through `result_or_gap`, and each of those that one of them calls."""
    found = []
    for module in (observation, kernel_side, surroundings, inventory):
        calls = (node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call))
        names = {ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "result_or_gap"}
        found += [
            (module, name)
            for name in sorted(names)
            if name not in {"_target_answers", "_libcuda_answers", "_target_sections", "self._start_children"}
        ]
    return [*found, *((observation, name) for name in ("installed_packages", "with_installers", "frameworks", "target_facts"))]


CONDITIONAL = {"log_from_journal", "stuck_processes", "fabric_parts", "fabric_manager", "frameworks_elsewhere", "libraries", "_wsl_section"}
"""Probes that a machine without a driver or a framework does not call."""


@pytest.mark.parametrize(
    ("module", "name"), _probes(), ids=lambda value: value if isinstance(value, str) else value.__name__.rpartition(".")[2]
)
def test_a_defect_costs_one_section(module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, _, attribute = name.rpartition(".")
    monkeypatch.setattr(getattr(module, owner) if owner else module, attribute, planted)
    examination = examine_machine(CheckOptions(policy=Policy(level=Level.LOOK)))
    crashed = [gap.reason for gap in missing_values(examination.snapshot) if "planted" in gap.reason]
    assert crashed or name in CONDITIONAL
    assert examination.diagnosis.exit_code in {CRASHED, 1} if crashed else True
    assert sum(_is_read(examination.snapshot, field) for field in Snapshot.__struct_fields__) > 12
    assert examination.diagnosis.outcomes


SEVERAL = [
    *(
        (observation, name)
        for name in (
            "_observed_snapshot",
            "_with_machine",
            "_target_answers",
            "_libcuda_answers",
            "_target_sections",
            "with_kernel_side",
            "with_surroundings",
            "with_late_kernel_facts",
        )
    ),
    (inventory.Inventory, "_start_children"),
]
"""What reads several sections."""


@pytest.mark.parametrize(("place", "name"), SEVERAL, ids=[name for _, name in SEVERAL])
def test_a_defect_in_what_reads_several_sections_keeps_the_report(place: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place, name, planted)
    examination = examine_machine(CheckOptions(policy=Policy(level=Level.LOOK)))
    assert any("planted" in gap.reason for gap in missing_values(examination.snapshot))
    assert examination.diagnosis.exit_code in {CRASHED, 1}
    assert examination.diagnosis.outcomes


def planted(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("planted")


def _is_read(snapshot: Snapshot, field: str) -> bool:
    return type(getattr(snapshot, field)).__name__ != "Missing"
