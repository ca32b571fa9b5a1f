"""A diagnosis of all recorded machines holds when their report is read back, and less knowledge gives no better one."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.examination import Examination
from gpudoctor.findings import Diagnosis, OutcomeKind, Verdict
from gpudoctor.read.own_report import own_report
from gpudoctor.report import document
from gpudoctor.report.build import build_report
from gpudoctor.snapshot import NOT_ASKED, Missing, Snapshot, Variables
from tests.machines.diagnoses import diagnosis
from tests.machines.store import NAMES, policy, recorded
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
SECTIONS = [name for name in Snapshot.__struct_fields__ if name not in {"version", "created", "origin", "remarks"}]
ROTATION = 12
"""Of each machine every twelfth section is removed, another one first in each: all of them would take 20 s."""
RAISES_THE_DOUBT = {("smoke", "nccl-p2p-acs-iommu")}
"""Sections whose content makes a rule doubt what it would otherwise pass: an all-reduce that hung."""
LOADED = {"link-gives-lanes-up-when-idle"}
"""Healthy machines whose loads alone show that a link has all lanes."""


def sees_all(name: str) -> bool:
    """Whether every process on a machine sees all of it: where a container, a scheduler or a mask takes GPUs away, only their section excuses it."""
    seen = recorded(name)
    masked = isinstance(seen.variables, Variables) and any("VISIBLE_DEVICES" in one for one in seen.variables.values)
    return isinstance(seen.container, Missing) and isinstance(seen.allocation, Missing) and not masked


def without(name: str, sections: list[str]) -> Diagnosis:
    return diagnose(msgspec.structs.replace(recorded(name), **dict.fromkeys(sections, NOT_ASKED)), MATRIX, policy(name))


def present(name: str) -> list[str]:
    return [section for section in SECTIONS if not isinstance(getattr(recorded(name), section), Missing)]


def outcomes(found: Diagnosis) -> dict[tuple[str, Any], OutcomeKind]:
    return {(outcome.name, outcome.subject): outcome.kind for outcome in found.outcomes}


@pytest.mark.untraced
def test_the_diagnosis_of_every_report_read_back_is_the_same_byte_for_byte() -> None:
    for name in NAMES:
        made = Examination(snapshot=recorded(name), diagnosis=diagnosis(name), policy=policy(name), matrix_date="2026-11-20")
        read = own_report(document.encode_document(build_report(made, "check", ("gpudoctor", "check"))))
        assert read is not None
        snapshot, asked = read
        assert msgspec.json.encode(diagnose(snapshot, MATRIX, asked)) == msgspec.json.encode(diagnosis(name)), name


def test_removing_a_section_turns_no_doubt_into_a_pass() -> None:
    for number, name in enumerate(NAMES):
        before = outcomes(diagnosis(name))
        for section in present(name)[number % ROTATION :: ROTATION]:
            found = without(name, [section])
            if len(found.ladder) < len(diagnosis(name).ladder):
                continue  # a GPU that only this section lists is gone, and nobody can doubt its state
            after = outcomes(found)
            passed = {
                rule
                for (rule, subject), kind in before.items()
                if kind is OutcomeKind.COULD_NOT_TELL and after.get((rule, subject)) is OutcomeKind.PASSED
            }
            assert {(section, rule) for rule in passed} <= RAISES_THE_DOUBT, name


def test_any_part_of_a_healthy_machine_has_no_finding() -> None:
    chance = random.Random("parts")
    healthy = [
        name
        for name in NAMES
        if diagnosis(name).verdict is Verdict.READY and not diagnosis(name).findings and sees_all(name) and name not in LOADED
    ]
    assert len(healthy) > 40
    for name in healthy:
        for _ in range(4):
            known = [section for section in present(name) if section != "host"]  # WSL and Jetson have their GPU on no PCI bus
            removed = chance.sample(known, chance.randrange(1, len(known)))
            assert without(name, removed).findings == (), (name, removed)
