from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, Fact, Missing, Python, Snapshot
from tests.builders import torch
from tests.diagnose.rules.examined import environment, only, outcome

RULE = "python-headers-missing"
NO_HEADERS = Missing(Cause.ABSENT, "/usr/include/python3.12 holds no Python.h")


def with_python(headers: Any, base_prefix: str = "/usr") -> Snapshot:
    python = Python("/env/bin/python", "named", version="3.12.1", headers=headers, base_prefix=base_prefix)
    return environment(framework=torch(), wheels="triton 3.2.0", python=python)


@pytest.mark.parametrize(
    ("base_prefix", "command"),
    [("/usr", "sudo apt install python3.12-dev"), ("/opt/python", "uv venv --python-preference only-managed --python 3.12")],
)
def test_the_headers_are_those_of_this_python(base_prefix: str, command: str) -> None:
    found = only(with_python(NO_HEADERS, base_prefix), RULE)
    assert NO_HEADERS.reason in found.message
    assert found.fixes[0].command == command


def test_other_outcomes() -> None:
    assert outcome(with_python(Fact("/usr/include/python3.12/Python.h", "sysconfig")), RULE) is OutcomeKind.PASSED
    assert outcome(with_python(Missing(Cause.DENIED, "Permission denied")), RULE) is OutcomeKind.COULD_NOT_TELL
    assert outcome(environment(framework=torch()), RULE) is OutcomeKind.NOT_APPLICABLE
