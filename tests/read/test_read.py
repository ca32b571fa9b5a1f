"""Pasted text through the real tables and rules: which cause leads, and what the text must not cause."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.diagnose import diagnose
from gpudoctor.errors import UsageError
from gpudoctor.findings import Diagnosis, Policy, Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import MAX_BYTES, lines_of
from gpudoctor.read.texts import read_text
from gpudoctor.snapshot import Nvml, Packages, Snapshot
from tests.read import texts

CREATED = "2026-11-22T00:00:00Z"


def read(text: str, matrix: Matrix) -> Snapshot:
    return read_text(text.encode(), "pasted.txt", matrix, CREATED)


def judged(text: str, matrix: Matrix) -> Diagnosis:
    return diagnose(read(text, matrix), matrix, Policy(level=None))


def causes(text: str, matrix: Matrix) -> list[str]:
    return causes_of(judged(text, matrix))


def causes_of(diagnosis: Diagnosis) -> list[str]:
    return [finding.name for finding in diagnosis.root_causes if finding.severity is not Severity.NOTE]


@pytest.mark.parametrize(("cause", "text"), texts.CASES, ids=[f"{cause}-{number}" for number, (cause, _) in enumerate(texts.CASES)])
def test_the_cause_leads(cause: str, text: str, matrix: Matrix) -> None:
    assert causes(text, matrix)[:1] == [cause]


@pytest.mark.parametrize(("cause", "text"), texts.DECIDED, ids=[f"{cause}-{number}" for number, (cause, _) in enumerate(texts.DECIDED)])
def test_what_else_is_known_decides_between_the_causes_of_an_error(cause: str, text: str, matrix: Matrix) -> None:
    assert causes(text, matrix)[:1] == [cause]


@pytest.mark.parametrize("text", texts.HARMLESS)
def test_harmless_lines_alone_are_called_harmless(text: str, matrix: Matrix) -> None:
    snapshot = read(text, matrix)
    assert any("is harmless" in remark for remark in snapshot.remarks)
    assert diagnose(snapshot, matrix, Policy(level=None)).exit_code == 3


@pytest.mark.parametrize(("cause", "text"), texts.CASES, ids=[f"{cause}-{number}" for number, (cause, _) in enumerate(texts.CASES)])
@pytest.mark.parametrize("form", [texts.quoted, texts.coloured, texts.fenced, texts.in_utf16], ids=lambda form: form.__name__)
def test_how_it_was_pasted_makes_no_difference(cause: str, text: str, form: texts.Form, matrix: Matrix) -> None:
    snapshot = read_text(form(text), "pasted.txt", matrix, CREATED)
    found = diagnose(snapshot, matrix, Policy(level=None)).root_causes
    assert [finding.name for finding in found if finding.severity is not Severity.NOTE][:1] == [cause]


@pytest.mark.parametrize("text", [text for _, text in texts.CASES])
def test_doubled_spaces_make_no_difference(text: str, matrix: Matrix) -> None:
    single = [line for line in text.splitlines() if "  " not in line and line.count(" ") > 3 and "|" not in line]
    doubled = "\n".join(line.replace(" ", "  ") for line in single)
    assert not single or causes(doubled, matrix) == causes("\n".join(single), matrix)


@pytest.mark.parametrize("text", texts.HEALTHY)
def test_a_healthy_machine_has_no_finding(text: str, matrix: Matrix) -> None:
    assert causes(text, matrix) == []


def test_facts_carry_the_line_and_the_reader(matrix: Matrix) -> None:
    snapshot = read(texts.COLLECT_ENV, matrix)
    assert isinstance(snapshot.packages, Packages)
    (torch,) = (distribution for distribution in snapshot.packages.distributions if distribution.name == "torch")
    assert (torch.version, torch.where) == ("2.6.0+cu124", "line 2, torch.utils.collect_env")
    assert isinstance(snapshot.nvml, Nvml)
    assert snapshot.nvml.driver_version == "580.65.06"


def test_the_more_direct_statement_is_used_and_the_other_is_kept(matrix: Matrix) -> None:
    snapshot = read("Driver: 535.54\n" + texts.COLLECT_ENV, matrix)
    assert isinstance(snapshot.nvml, Nvml)
    assert snapshot.nvml.driver_version == "580.65.06"
    assert any("535.54" in remark and "580.65.06" in remark for remark in snapshot.remarks)


def test_a_framework_that_cannot_use_cuda_is_remarked(matrix: Matrix) -> None:
    remark = "says that the framework cannot use CUDA"
    unavailable = texts.HEALTHY_ENV.replace("Is CUDA available: True", "Is CUDA available: False")
    assert any(remark in one for one in read(unavailable, matrix).remarks)
    assert not any(remark in one for one in read(texts.HEALTHY_ENV, matrix).remarks)


@pytest.mark.parametrize("text", ["It does not work on my machine, please help.\n", "请问怎么办\n", '{"color": "red"}\n'])
def test_text_without_a_fact_is_unknown_and_the_report_says_what_to_paste(text: str, matrix: Matrix) -> None:
    snapshot = read(text, matrix)
    assert diagnose(snapshot, matrix, Policy()).verdict is Verdict.UNKNOWN
    assert "is recognised; paste the whole error message" in snapshot.remarks[-1]


@pytest.mark.parametrize("text", ["", "\n\n", "12 345\n", "\x00\x01abcdef\x02\n"])
def test_what_is_no_text_is_refused_with_what_to_paste(text: str, matrix: Matrix) -> None:
    with pytest.raises(UsageError, match=r"Nothing in pasted\.txt is recognised.*nvidia-smi"):
        read(text, matrix)


def test_versions_of_no_stated_machine_are_no_fault_and_no_fact(matrix: Matrix) -> None:
    text = "Which is better, torch 2.4 or an older one? They require driver 525.60 or newer.\n"
    assert causes(text, matrix) == []
    assert "does not say that this machine has them" in " ".join(read(text, matrix).remarks)


def test_a_text_that_is_too_large_is_refused() -> None:
    with pytest.raises(UsageError, match="reads up to 20 MB"):
        lines_of(b"x" * (MAX_BYTES + 1), "pasted.txt")


def test_a_long_log_is_read_in_seconds_and_keeps_what_is_at_its_end(matrix: Matrix) -> None:
    steps = "".join(f"12:{step % 60:02} step {step} loss {1 / (step + 1):.6f} lr 0.0003, 812 images a second\n" for step in range(300_000))
    error = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
    began = time.process_time()
    assert causes((steps + error)[-MAX_BYTES:], matrix)[:1] == ["ecc-hardware-error"]
    assert time.process_time() - began < 20


@given(st.binary(max_size=2000))
def test_any_bytes_are_read_or_refused(matrix: Matrix, data: bytes) -> None:
    try:
        snapshot = read_text(data, "pasted.txt", matrix, CREATED)
    except UsageError:
        return
    assert diagnose(snapshot, matrix, Policy(level=None)).exit_code in {0, 1, 3}
