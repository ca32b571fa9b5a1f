"""A ticket loses nothing of the diagnosis, and names nobody."""

from __future__ import annotations

import os
import re
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudoctor.diagnose import diagnose
from gpudoctor.examination import Examination
from gpudoctor.findings import Diagnosis
from gpudoctor.packed_text import BEGIN_LINE, END_LINE, unpack_document
from gpudoctor.read.own_report import own_report
from gpudoctor.redact import redactor_for_ticket
from gpudoctor.report.ticket.markdown import MAX_LETTERS
from gpudoctor.snapshot import Snapshot
from tests.machines.store import NAMES as MACHINES
from tests.redact.planted import DEVICES, IDENTIFIED, LEFT, NAMED, NAMES, SECRETS, examination
from tests.report.ticket.tickets import ALICE, of_machine, written
from tests.seams.every import every
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
PLANTED = {**SECRETS, **NAMES, **DEVICES}
GONE = (*LEFT, *NAMED, *IDENTIFIED)


def outline(found: Diagnosis) -> tuple[object, ...]:
    """Return what must survive: the verdict and each finding, without its wording."""
    return found.verdict, [(finding.id, finding.severity, finding.confidence, finding.because_of) for finding in found.findings]


def unpacked(text: str) -> str:
    """Return a ticket with what its packed part holds: its letters alone form any short word by chance."""
    before, begin, rest = text.partition(BEGIN_LINE)
    return before + os.fsdecode(unpack_document(text) or b"") + rest.partition(END_LINE)[2] if begin else text


def read_back(text: str) -> Diagnosis:
    seen = own_report(text.encode())
    assert seen is not None
    return diagnose(seen[0], MATRIX, seen[1])


@pytest.mark.untraced
def test_the_diagnosis_of_every_fourth_recorded_machine_survives_a_ticket() -> None:
    for name in MACHINES[::4]:
        machine = of_machine(name)
        tickets = written(machine)
        assert len(tickets["markdown"].encode()) <= MAX_LETTERS
        read = [own_report(text.encode()) for text in tickets.values()]
        assert read[0] == read[1] == read[2]
        assert outline(read_back(tickets["markdown"])) == outline(machine.diagnosis), name


def test_a_quoted_ticket_is_read() -> None:
    machine = of_machine("eight-one-lost")
    quoted = "".join(f"> {line}\n" for line in written(machine)["markdown"].splitlines())
    assert outline(read_back(quoted)) == outline(machine.diagnosis)


def test_a_ticket_too_long_for_plain_json_holds_it_compressed() -> None:
    machine = of_machine("eight-one-lost")
    talkative = msgspec.structs.replace(machine.snapshot, remarks=tuple(f"remark {number} of a talkative reader" for number in range(2000)))
    long = msgspec.structs.replace(machine, snapshot=talkative)
    text = written(long)["markdown"]
    assert len(text.encode()) <= MAX_LETTERS
    assert "BEGIN GPUDOCTOR REPORT" in text
    quoted = "".join(f"> > {line}\r\n" for line in text.splitlines())
    assert outline(read_back(quoted)) == outline(machine.diagnosis)


@pytest.mark.parametrize("gaps", [False, True])
@every("kind", tuple(PLANTED))
def test_no_field_carries_an_identity_into_a_ticket(kind: str, gaps: bool) -> None:
    for form, text in written(examination(PLANTED[kind], gaps=gaps)).items():
        assert [part for part in GONE if part in unpacked(text)] == [], form


def planted_in(value: Any, text: str, draw: Any) -> Any:
    """Return a built-in structure with `text` at the end of some strings; words and keys of the format stay."""
    if isinstance(value, list):
        return [planted_in(one, text, draw) for one in value]
    if isinstance(value, dict):
        return {key: one if key in {"type", "cause", "version"} else planted_in(one, text, draw) for key, one in value.items()}
    return f"{value} {text}" if isinstance(value, str) and " " in value and draw() else value


@pytest.mark.untraced
@given(name=st.sampled_from(MACHINES), kind=st.sampled_from(sorted(PLANTED)), random=st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_planted_in_a_machine_is_gone_and_the_diagnosis_is_the_same(name: str, kind: str, random: Any) -> None:
    machine = of_machine(name)
    raw = planted_in(msgspec.to_builtins(machine.snapshot), PLANTED[kind], lambda: random.random() < 0.3)
    snapshot = msgspec.convert(raw, Snapshot)
    seen = Examination(
        snapshot=snapshot, diagnosis=diagnose(snapshot, MATRIX, machine.policy), policy=machine.policy, matrix_date="2026-11-20"
    )
    for form, text in written(seen).items():
        assert [part for part in GONE if part in unpacked(text)] == [], form
    redactor, _ = redactor_for_ticket(ALICE, seen)
    assert outline(diagnose(redactor.struct(snapshot), MATRIX, machine.policy)) == outline(seen.diagnosis)


def test_a_value_has_one_pseudonym_throughout_a_ticket() -> None:
    machine = of_machine("eight-one-lost")
    remarks = (
        "rack4-n12:4711:4712 [0] NCCL WARN Call to connect failed",
        "no answer from rack4-n12, then from rack4-n13:29500",
        "/home/mallory/venv is mallory's",
        "Serial Number : 1324021057683",
        "board 1324021057683 replaced",
        "GPU-8f6f2c4e-1b2a-4c3d-9e8f-0a1b2c3d4e5f is called GPU-8f6f in CUDA_VISIBLE_DEVICES",
    )
    seen = msgspec.structs.replace(machine, snapshot=msgspec.structs.replace(machine.snapshot, remarks=remarks))
    redactor, pseudonyms = redactor_for_ticket(ALICE, seen)
    told = redactor.struct(seen).snapshot.remarks
    assert told[:5] == (
        "<host-1>:4711:4712 [0] NCCL WARN Call to connect failed",
        "no answer from <host-1>, then from <host-2>:29500",
        "/home/<user-1>/venv is <user-1>'s",
        "Serial Number : <serial-1>",
        "board <serial-1> replaced",
    )
    assert re.fullmatch(r"GPU-(<uuid-\d+>) is called GPU-\1 in CUDA_VISIBLE_DEVICES", told[5])
    assert {kind.value: count for kind, count in pseudonyms.counts().items() if kind.value != "uuid"} == {"host": 2, "user": 1, "serial": 1}


def test_a_ticket_of_a_ticket_keeps_its_pseudonyms() -> None:
    machine = of_machine("eight-one-lost")
    seen = msgspec.structs.replace(
        machine, snapshot=msgspec.structs.replace(machine.snapshot, remarks=("<host-1> met db7.internal.example.com",))
    )
    redactor, _ = redactor_for_ticket(ALICE, seen)
    assert redactor.struct(seen).snapshot.remarks == ("<host-1> met <host-2>",)
