"""Every recorded machine gives the diagnosis it must, now and when it is built again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.diagnose import RULES
from gpudoctor.snapshot import decode, encode
from tests.machines.build import again, diagnosed, examine, expected
from tests.machines.edited import EDITED, Edited
from tests.machines.recipes import RECIPES, Recipe

RECORDED = sorted(Path(__file__).parent.glob("machines/*.json"))


def recorded(file: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(file.read_bytes())
    return data


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_a_recorded_machine_gives_its_diagnosis(file: Path) -> None:
    machine = recorded(file)
    diagnosis = again(machine)
    assert diagnosed(diagnosis) == machine["expect"]
    assert diagnosis["findings"] == machine["findings"], "if the new words are the better ones: scripts/record_machines --again"


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_a_recorded_snapshot_survives_being_read(file: Path) -> None:
    snapshot = decode(json.dumps(recorded(file)["snapshot"]).encode())
    assert decode(encode(snapshot)) == snapshot


@pytest.mark.parametrize("name", RECIPES)
def test_a_machine_built_again_gives_its_diagnosis(name: str, tmp_path: Path) -> None:
    _, report = examine(RECIPES[name], tmp_path)
    assert diagnosed(report) == expected(RECIPES[name])


def test_every_recipe_was_recorded_with_what_it_expects() -> None:
    files = {file.stem: recorded(file) for file in RECORDED}
    assert {*RECIPES, *EDITED} <= set(files)
    machines: dict[str, Recipe | Edited] = {**RECIPES, **EDITED}
    for name, recipe in machines.items():
        assert files[name]["expect"] == expected(recipe), f"run scripts/record_machines {name}"


def test_every_rule_fires_on_some_machine_and_passes_on_another() -> None:
    diagnoses = [again(recorded(file)) for file in RECORDED]
    kinds = {rule.name: {one["kind"] for each in diagnoses for one in each["outcomes"] if one["name"] == rule.name} for rule in RULES}
    assert {name for name, seen in kinds.items() if not {"found", "passed"} <= seen} == set()
