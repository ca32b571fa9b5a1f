"""Every document that is emitted, against its published schema; and the schemas themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator, ValidationError

from gpudoctor.report import document, github, junit, markdown, oneline, sarif, terminal
from gpudoctor.report.build import TOOL, build_report
from gpudoctor.report.document import RulePage, RulesDocument
from gpudoctor.report.model import Report
from gpudoctor.report.schema import DOCUMENTS, document_schema
from gpudoctor.snapshot import encode_snapshot
from tests.report import samples

VERSIONS = Path(__file__).parent / "versions"
"""A report of each version that had fewer fields."""
_SNAPSHOT = {*document_schema("snapshot")["$defs"], *(document_schema("xray")["$defs"].keys() - {"XrayDocument"})}
"""What a document embeds of the snapshot, which has a version of its own."""


def _check(name: str, written: bytes) -> dict[str, Any]:
    """`written`, valid; as a JSON Schema tool reads it, which knows no NaN."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    read: dict[str, Any] = json.loads(written, parse_constant=refuse)
    Draft202012Validator(document_schema(name)).validate(read)
    return read


@pytest.mark.parametrize("name", DOCUMENTS)
def test_schemas_are_valid_and_are_json(name: str) -> None:
    made = document_schema(name)
    Draft202012Validator.check_schema(made)
    assert json.loads(msgspec.json.encode(made)) == made
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert made["$id"] == f"urn:gpudoctor:{name}:1"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_defaults_are_values_that_the_schema_takes(name: str) -> None:
    made = document_schema(name)
    defaults = list(_with(made, "default"))
    for part in defaults:
        Draft202012Validator({**part, "$defs": made["$defs"]}).validate(part["default"])
    assert defaults or name in {"rules", "error"}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_examples_are_values_that_the_schema_takes(name: str) -> None:
    made = document_schema(name)
    exemplified = list(_with(made, "examples"))
    for part in exemplified:
        for example in part["examples"]:
            Draft202012Validator({**part, "$defs": made["$defs"]}).validate(example)
    assert all(part["examples"] for part in exemplified)
    assert exemplified


@pytest.mark.parametrize("name", sorted({*DOCUMENTS} - {"snapshot"}))
def test_a_field_that_an_older_document_lacks_says_nothing(name: str) -> None:
    made = document_schema(name)["$defs"]
    said = [
        f"{title}.{field}"
        for title in sorted(made.keys() - _SNAPSHOT)
        for field, form in made[title].get("properties", {}).items()
        if field != "schema" and _says(form.get("default"))
    ]
    assert sorted(said) == {"fit": ["Asked.accumulate", "Asked.gpus", "Asked.optimizer", "Asked.precision"], "plan": ["Plan.resolver"]}.get(
        name, []
    )


def _says(value: object) -> bool:
    if not isinstance(value, dict):
        return bool(value)
    return value.get("type") != "missing" and any(map(_says, value.values()))


def _with(node: object, key: str) -> Iterator[dict[str, Any]]:
    """Yield the parts of a schema that hold `key`, not those that are about a field of that name."""
    if isinstance(node, dict):
        if key in node and node.keys() & {"type", "anyOf", "$ref", "enum"}:
            yield node
        for child in node.values():
            yield from _with(child, key)
    elif isinstance(node, list):
        for child in node:
            yield from _with(child, key)


@pytest.mark.parametrize("name", sorted({*DOCUMENTS} - {"snapshot"}))
def test_every_field_of_our_own_documents_is_described(name: str) -> None:
    own = {title: struct for title, struct in document_schema(name)["$defs"].items() if title not in _SNAPSHOT}
    bare = [
        f"{title}.{field}"
        for title, struct in own.items()
        for field, form in struct.get("properties", {}).items()
        if "description" not in form and "$ref" not in form
    ]
    assert bare == []


@pytest.mark.parametrize("file", sorted(VERSIONS.iterdir()), ids=lambda file: str(file.stem))
def test_a_report_of_an_older_version_is_still_read(file: Path) -> None:
    read = _check("report", file.read_bytes())
    report = msgspec.json.decode(file.read_bytes(), type=Report)
    assert (report.verdict, [finding.id for finding in report.causes]) == (read["verdict"], [read["findings"][0]["id"]])
    for writer in (junit, markdown, github, sarif, oneline, terminal):
        assert "GD202" in str(writer.render(report))


@pytest.mark.parametrize("name", samples.ALL)
def test_reports_and_snapshots_are_valid(name: str) -> None:
    read = _check("report", document.encode_document(build_report(samples.ALL[name])))
    Draft202012Validator(document_schema("snapshot")).validate(read["snapshot"])
    _check("snapshot", encode_snapshot(samples.ALL[name].snapshot))


def test_error_documents_are_valid() -> None:
    read = _check("error", document.encode_error("usage", "No such file: '\udcff'.", 2))
    assert read["error"] == {"kind": "usage", "message": "No such file: '\\xff'."}
    assert read["exit_code"] == 2


def test_rule_documents_are_valid() -> None:
    page = RulePage(code="GD101", name="no-gpu", severity="error", breaks="slot", since="0.1", title="No GPU", doc="No GPU.", url="u")
    assert _check("rules", document.encode_document(RulesDocument(tool=TOOL, rules=(page,))))["rules"][0]["code"] == "GD101"


@pytest.mark.parametrize(
    "change", [{"verdict": "splendid"}, {"findings": []}, {"added-later": {"any": "thing"}}, {"because": "a new reason"}]
)
def test_open_words_and_additions_are_valid(change: dict[str, Any]) -> None:
    read = json.loads(document.encode_document(build_report(samples.mismatch)))
    Draft202012Validator(document_schema("report")).validate({**read, **change})


def test_an_unknown_word_of_the_snapshot_is_valid() -> None:
    read = json.loads(encode_snapshot(samples.SNAPSHOT))
    read["host"]["platform"] = "haiku"
    read["nvml"] = {"type": "missing", "cause": "eclipsed", "reason": "the moon"}
    Draft202012Validator(document_schema("snapshot")).validate(read)


@pytest.mark.parametrize(
    "change",
    [{"schema": "gpudoctor.report/2"}, {"verdict": None}, {"findings": {}}, {"exit_code": "1"}, {"snapshot": None}, {"proved_to": "all"}],
)
def test_wrong_documents_are_refused(change: dict[str, Any]) -> None:
    read = json.loads(document.encode_document(build_report(samples.mismatch)))
    with pytest.raises(ValidationError):
        Draft202012Validator(document_schema("report")).validate({**read, **change})


@pytest.mark.parametrize("field", ["id", "tool", "examined", "verdict", "findings", "could_not_tell", "ladder", "matrix", "snapshot"])
def test_every_field_of_the_contract_is_required(field: str) -> None:
    read = json.loads(document.encode_document(build_report(samples.mismatch)))
    del read[field]
    with pytest.raises(ValidationError):
        Draft202012Validator(document_schema("report")).validate(read)
