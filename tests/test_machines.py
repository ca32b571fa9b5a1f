"""Every recorded machine gets its expected diagnosis, now and when it is built again."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import Evidence, Finding, Fix
from gpudoctor.snapshot import decode_snapshot, encode_snapshot
from tests.machines import golden
from tests.machines.build import diagnosed, examine, expected
from tests.machines.diagnoses import as_json, diagnosis
from tests.machines.edited import EDITED, Edited
from tests.machines.recipes import RECIPES, Recipe
from tests.machines.store import NAMES, load, recorded
from tests.seams.every import every


@every("name", NAMES)
def test_a_recorded_machine_gives_its_diagnosis(name: str) -> None:
    found = diagnosis.__wrapped__(name)  # not one that a test made which coverage does not follow
    assert diagnosed(as_json(found)) == load(name)["expect"]
    said = golden.text(found)
    assert said == golden.kept()[name], "if the new words are the better ones: scripts/record_machines --again"


HOW = ("installs", "removes", "python", "driver", "kernel_module", "os", "libc", "system_cuda", "system_cudnn")
"""What a fix changes, which its command or title says."""


def test_findings_txt_is_up_to_date() -> None:
    assert list(golden.kept()) == list(NAMES)
    assert not [name for name, said in golden.kept().items() if "FILL IN" in said]
    assert Finding.__struct_fields__ == (
        "id", "code", "name", "subject", "severity", "confidence", "title", "message", "breaks", "impact", "evidence", "fixes", "because_of", "action", "domain",
    )  # fmt: skip
    assert Evidence.__struct_fields__ == ("what", "value", "where")
    assert Fix.__struct_fields__ == ("title", "command", "needs", "verify", "kind", "action", *HOW)


def test_recorded_snapshots_survive_being_read() -> None:
    for name in NAMES:
        assert decode_snapshot(encode_snapshot(recorded(name))) == recorded(name), name


IN_THE_IMPORT = {"cpu-killed"}
"""Recipes whose training ends while TensorFlow is imported."""


@pytest.mark.usefixtures("unmeasured")
@pytest.mark.parametrize("name", RECIPES)
def test_a_machine_built_again_gives_its_diagnosis(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    at_hand = RECIPES[name].trains and name not in IN_THE_IMPORT
    _, report = examine(RECIPES[name], tmp_path, target=request.getfixturevalue("imported_tensorflow") if at_hand else None)
    assert diagnosed(report) == expected(RECIPES[name])


def test_every_recipe_was_recorded_with_what_it_expects() -> None:
    assert {*RECIPES, *EDITED} <= set(NAMES)
    machines: dict[str, Recipe | Edited] = {**RECIPES, **EDITED}
    for name, recipe in machines.items():
        assert load(name)["expect"] == expected(recipe), f"run scripts/record_machines {name}"


def test_every_rule_fires_on_some_machine_and_passes_on_another() -> None:
    kinds: dict[str, set[str]] = {rule.name: set() for rule in RULES}
    for name in NAMES:
        for outcome in diagnosis(name).outcomes:
            kinds[outcome.name].add(outcome.kind.value)
    assert [name for name, seen in kinds.items() if not {"found", "passed"} <= seen] == []
