"""An answer for an agent leaves out what matters least, says so, and still keeps to its schema."""

from __future__ import annotations

import json

import msgspec
import pytest
from jsonschema import Draft202012Validator

from gpudoctor.cli.document_limit import MAX_BYTES, bounded_document
from gpudoctor.errors import UsageError
from gpudoctor.report.build import TOOL, build_report
from gpudoctor.report.document import RulePage, RulesDocument
from gpudoctor.report.model import Passed, Report, Subject
from gpudoctor.report.schema import document_schema
from gpudoctor.snapshot import Snapshot
from tests.report import samples

PAGE = RulePage(code="GD101", name="no-gpu", severity="error", breaks="slot", since="0.1", title="No GPU", doc="x" * 20_000, url="u")


def sample() -> Report:
    return build_report(next(examination for examination in samples.ALL.values() if examination.diagnosis.findings))


def large(report: Report) -> Report:
    """Return the report with a snapshot that is too large by itself."""
    return msgspec.structs.replace(report, snapshot=Snapshot(created=report.created, remarks=("r" * MAX_BYTES,)))


def test_a_small_report_is_whole() -> None:
    report = sample()
    (written,) = bounded_document(report)
    assert msgspec.json.decode(written, type=Report) == report


def test_the_snapshot_goes_first_and_the_findings_stay() -> None:
    report = large(sample())
    written, sentence = bounded_document(report)
    assert sentence == f"Left out, to stay under {MAX_BYTES >> 10} KiB: the snapshot."
    assert msgspec.json.decode(written, type=Report).findings == report.findings
    Draft202012Validator(document_schema("report")).validate(json.loads(written))


def test_every_part_that_is_left_out_is_named() -> None:
    passed = Passed("GD101", "no-gpu", Subject("machine", "m" * 1000))
    written, sentence = bounded_document(msgspec.structs.replace(large(sample()), passed=(passed,) * 100))
    assert len(written) <= MAX_BYTES
    assert sentence.endswith("KiB: the snapshot, the rules that passed.")


def test_the_first_findings_stay_if_there_are_too_many() -> None:
    report = sample()
    many = msgspec.structs.replace(large(report), findings=(report.findings[0],) * 500)
    written, sentence = bounded_document(many)
    kept = msgspec.json.decode(written, type=Report).findings
    assert 0 < len(kept) < 500
    assert f"all but the first {len(kept)} of 500 findings." in sentence


def test_pages_are_cut_at_the_end() -> None:
    written, sentence = bounded_document(RulesDocument(tool=TOOL, rules=(PAGE,) * 5))
    assert len(msgspec.json.decode(written, type=RulesDocument).rules) == 2
    assert sentence.endswith("all but the first 2 of 5 pages.")


def test_what_cannot_be_cut_is_refused() -> None:
    with pytest.raises(UsageError, match="longer than 48 KiB"):
        bounded_document(RulesDocument(tool=TOOL, rules=(), guide="g" * MAX_BYTES))
