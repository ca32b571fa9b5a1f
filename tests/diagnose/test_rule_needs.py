"""A rule that a check does not load could say nothing about the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.engine import run_each_rule
from gpudoctor.diagnose.rule_needs import applicable_rules, usual_rules
from gpudoctor.diagnose.rules import FAMILIES, RULES, SPECIAL_NEEDS
from gpudoctor.findings import OutcomeKind, Policy, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.plan.assumed_snapshot import snapshot_of_combination
from gpudoctor.plan.model import Combination
from gpudoctor.read.texts import read_text
from gpudoctor.snapshot import SUPPOSED, TEXT, Cause, Missing, Snapshot
from tests.builders import bare, machine
from tests.machines.store import NAMES, policy, recorded
from tests.read import texts

SILENT = {OutcomeKind.NOT_APPLICABLE, OutcomeKind.NOT_ASKED}
STATED = (
    ("torch==2.8.0",), ("torch==1.13.1", "numpy==2.1.0"), ("tensorflow==2.15.0",), ("tensorflow[and-cuda]==2.18.0", "keras==3.3.0"),
    ("jax[cuda12]==0.4.30",), ("cupy-cuda12x",), ("onnxruntime-gpu==1.20.0",), ("torch==2.4.0", "torchvision==0.15.0"), ("numpy==1.26.4",),
)  # fmt: skip
MORE: tuple[dict[str, Any], ...] = ({}, {"os": "windows"}, {"os": "wsl"}, {"system_cuda": "12.4", "system_cudnn": "9.1"})
NEEDS = {module: set(needs) for rules in FAMILIES.values() for module, needs in rules.items()}
"""What each rule says nothing without, by its module."""
SECTIONS = sorted(set().union(*NEEDS.values()) & set(Snapshot.__struct_fields__))
TEXTS = sorted({text for table in (texts.CASES, texts.DECIDED) for _, text in table} | {*texts.HEALTHY, *texts.HARMLESS})


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
    loaded = set(applicable_rules(view, wishes))
    assert snapshot.origin in {TEXT, SUPPOSED} or set(usual_rules()) <= loaded
    return {
        run.outcome.name
        for run in run_each_rule(tuple(rule for rule in RULES if rule not in loaded), view)
        if run.outcome.kind not in SILENT
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
        assert applicable_rules(MachineView(bare(), matrix, wishes), wishes) == RULES


@pytest.mark.parametrize("text", TEXTS)
def test_the_diagnosis_of_a_text_is_that_of_all_rules(text: str, matrix: Matrix) -> None:
    snapshot = read_text(text.encode(), "a text", matrix, "2026-01-01T00:00:00Z")
    found, by_all = diagnose(snapshot, matrix, Policy(level=None)), diagnose(snapshot, matrix, Policy(level=None), RULES)
    spoken = tuple(outcome for outcome in by_all.outcomes if outcome.kind not in SILENT)
    assert tuple(outcome for outcome in found.outcomes if outcome.kind not in SILENT) == spoken
    assert msgspec.structs.replace(found, outcomes=spoken) == msgspec.structs.replace(by_all, outcomes=spoken)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_rule_says_nothing_without_a_section_that_it_needs(section: str, matrix: Matrix) -> None:
    rules = tuple(rule for rule in RULES if section in NEEDS[rule.body.__name__])
    for name in NAMES:
        unstated = msgspec.structs.replace(recorded(name), **{section: Missing(Cause.NOT_STATED, "the text does not state it")})
        runs = run_each_rule(rules, MachineView(unstated, matrix, policy(name)))
        assert [run.outcome.name for run in runs if run.outcome.kind not in SILENT] == [], name


@pytest.mark.parametrize("gpus", [(), ("GTX 1080",), ("Tesla K80",), ("H100",), ("RTX 5090", "A100")])
@pytest.mark.parametrize("driver", [None, "470.57.02", "535.104.05", "580.65.06"])
def test_the_diagnosis_of_a_stated_machine_is_that_of_all_rules(gpus: tuple[str, ...], driver: str | None, matrix: Matrix) -> None:
    for requirements in STATED:
        for more in MORE:
            stated = Combination(requirements=requirements, gpus=gpus, driver=driver, python="3.11", **more)
            snapshot = snapshot_of_combination(stated, matrix, "2026-01-01T00:00:00Z")
            assert speaking(snapshot, Policy(level=None), matrix) == set(), (requirements, more)


def test_cuda_compat_of_a_stated_machine_is_diagnosed(matrix: Matrix) -> None:
    stated = Combination(requirements=("torch==2.8.0",), gpus=("GTX 1080",), driver="535.104.05", cuda_compat="12.8")
    assert speaking(snapshot_of_combination(stated, matrix, "2026-01-01T00:00:00Z"), Policy(level=None), matrix) == set()


def test_a_short_text_needs_few_rules(matrix: Matrix) -> None:
    snapshot = read_text(texts.COLLECT_ENV.encode(), "a text", matrix, "2026-01-01T00:00:00Z")
    loaded = applicable_rules(MachineView(snapshot, matrix, Policy(level=None)), Policy(level=None))
    assert len(loaded) < len(RULES) / 2
    assert not any("gpu_states" in NEEDS[rule.body.__name__] for rule in loaded)


def test_a_cause_that_a_line_names_is_loaded(matrix: Matrix) -> None:
    view = MachineView(read_text(texts.COLLECT_ENV.encode(), "a text", matrix, "2026-01-01T00:00:00Z"), matrix, Policy(level=None))
    named = frozenset(rule.name for rule in RULES)
    assert applicable_rules(view, Policy(level=None), named) == RULES


def test_what_rules_need_is_known() -> None:
    assert set().union(*NEEDS.values()) == {"gpu_states", *SPECIAL_NEEDS, *SECTIONS}


def test_a_rule_needs_a_gpu_where_it_is_about_one() -> None:
    about_gpus = {rule.body.__name__ for rule in RULES if rule.about is SubjectKind.GPU}
    assert {module for module, needs in NEEDS.items() if "gpus" in needs} >= about_gpus


def test_rules_that_only_some_machines_need_are_not_loaded_with_the_usual_ones() -> None:
    assert {rule.body.__name__ for rule in usual_rules()} == {module for module, needs in NEEDS.items() if not SPECIAL_NEEDS & needs}
