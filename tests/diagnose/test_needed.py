"""A rule that a check does not load could say nothing about the machine."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.engine import run_each
from gpudoctor.diagnose.needed import ALWAYS, OF_CUDA_BUILDS, OF_TRAINING, OF_WSL, needed
from gpudoctor.diagnose.rules import RULES
from gpudoctor.diagnose.rules.of_gpus import OF_GPUS
from gpudoctor.findings import OutcomeKind, Policy, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, Missing, Snapshot
from tests.builders import bare, machine
from tests.machines.store import NAMES, policy, recorded

SILENT = {OutcomeKind.NOT_APPLICABLE, OutcomeKind.NOT_ASKED}


def machines_with_a_gap() -> Iterator[Snapshot]:
    """A machine with GPUs and one without, each without one section, for each reason."""
    for whole in (machine(), bare()):
        for field in msgspec.structs.fields(Snapshot):
            if isinstance(getattr(whole, field.name), msgspec.Struct | tuple) and field.name != "remarks":
                for cause in (Cause.FAILED, Cause.ABSENT, Cause.DENIED, Cause.NOT_ASKED):
                    yield msgspec.structs.replace(whole, **{field.name: Missing(cause, "x")})


def speaking(snapshot: Snapshot, wishes: Policy, matrix: Matrix) -> set[str]:
    """The rules that are not loaded and would say something."""
    view = MachineView(snapshot, matrix, wishes)
    loaded = set(needed(view, wishes))
    assert set(ALWAYS) <= loaded
    return {
        run.outcome.name for run in run_each(tuple(rule for rule in RULES if rule not in loaded), view) if run.outcome.kind not in SILENT
    }


def test_of_recorded_machines(matrix: Matrix) -> None:
    assert {name: found for name in NAMES if (found := speaking(recorded(name), policy(name), matrix))} == {}


def test_of_machines_that_were_not_wholly_observed(matrix: Matrix) -> None:
    assert [found for snapshot in machines_with_a_gap() if (found := speaking(snapshot, Policy(), matrix))] == []


@pytest.mark.parametrize("snapshot", [bare(), machine()])
def test_the_diagnosis_is_that_of_all_rules(snapshot: Snapshot, matrix: Matrix) -> None:
    found, by_all = diagnose(snapshot, matrix, Policy()), diagnose(snapshot, matrix, Policy(), RULES)
    spoken = tuple(outcome for outcome in by_all.outcomes if outcome.kind not in SILENT)
    assert tuple(outcome for outcome in found.outcomes if outcome.kind not in SILENT) == spoken
    assert msgspec.structs.replace(found, outcomes=spoken) == msgspec.structs.replace(by_all, outcomes=spoken)


def test_a_named_rule_is_loaded(matrix: Matrix) -> None:
    for wishes in (Policy(only=("GD1",)), Policy(skip=("GD1",)), Policy(require=("gpus==1",))):
        assert needed(MachineView(bare(), matrix, wishes), wishes) == RULES


@pytest.mark.parametrize("names", [OF_GPUS, OF_WSL, OF_TRAINING, OF_CUDA_BUILDS])
def test_every_name_is_a_rule(names: frozenset[str]) -> None:
    assert names
    assert names <= {rule.body.__name__ for rule in RULES}
    assert names.isdisjoint(rule.body.__name__ for rule in ALWAYS)


def test_the_list_of_rules_about_gpus_is_right() -> None:
    assert {rule.about for rule in RULES if rule.body.__name__ in OF_GPUS} == {SubjectKind.GPU}
