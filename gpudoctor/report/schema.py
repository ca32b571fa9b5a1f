"""The published JSON Schemas (draft 2020-12), made from the structs themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.report.diff import Diff
from gpudoctor.report.document import ErrorDocument, MatrixDocument, RulesDocument, XrayDocument
from gpudoctor.report.environments import EnvironmentsDocument
from gpudoctor.report.fit import FitDocument
from gpudoctor.report.fleet import Fleet
from gpudoctor.report.model import Report
from gpudoctor.report.plan import Index, Plan
from gpudoctor.snapshot import OpenEnum, Snapshot

DOCUMENTS: dict[str, tuple[str, type]] = {
    "report": ("urn:gpudoctor:report:1", Report),
    "snapshot": ("urn:gpudoctor:snapshot:1", Snapshot),
    "error": ("urn:gpudoctor:error:1", ErrorDocument),
    "rules": ("urn:gpudoctor:rules:1", RulesDocument),
    "matrix": ("urn:gpudoctor:matrix:1", MatrixDocument),
    "diff": ("urn:gpudoctor:diff:1", Diff),
    "index": ("urn:gpudoctor:index:1", Index),
    "plan": ("urn:gpudoctor:plan:1", Plan),
    "fit": ("urn:gpudoctor:fit:1", FitDocument),
    "envs": ("urn:gpudoctor:envs:1", EnvironmentsDocument),
    "fleet": ("urn:gpudoctor:fleet:1", Fleet),
    "xray": ("urn:gpudoctor:xray:1", XrayDocument),
}


def document_schema(name: str) -> dict[str, Any]:
    """The schema of one document of DOCUMENTS."""
    identifier, document = DOCUMENTS[name]
    made = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(document)))  # tuples among the defaults become arrays
    _open_enumerations(made["$defs"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": identifier, "title": document.__name__, **made}


def _open_enumerations(definitions: dict[str, Any]) -> None:
    """Let every open enumeration take any word: what is known becomes examples."""
    for kind in OpenEnum.__subclasses__():
        if kind.__name__ in definitions:
            definitions[kind.__name__] = {
                "title": kind.__name__,
                "description": f"{kind.__doc__} Open: a newer version may use further words.",
                "type": "string",
                "examples": [word.value for word in kind],
            }
