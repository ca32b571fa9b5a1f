from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, OutcomeKind, Policy
from tests.diagnose.rules.packaged import outcome, stated, supposed
from tests.matrix.samples import matrix


@pytest.mark.parametrize("first", [0, 1], ids=["TensorFlow is listed first", "protobuf is listed first"])
@pytest.mark.parametrize(("protobuf", "names"), [("4.21.0", ["protobuf-mismatch"]), ("3.20.1", []), ("3.19.6", [])])
def test_a_release_without_an_upper_bound_is_bound_by_the_next_that_has_one(protobuf: str, names: list[str], first: int) -> None:
    rows = """
tensorflow,2.9.0,linux_x86_64,3.9,cuda,11.2,8.1,,,protobuf>=3.9.2,1,,,wheels,
tensorflow,2.9.1,linux_x86_64,3.9,cuda,11.2,8.1,,,"protobuf<3.20,>=3.9.2",1,,,wheels,
"""
    packages = (stated("tensorflow", "2.9.0", "protobuf>=3.9.2"), stated("protobuf", protobuf))
    tables = matrix(sources="wheels,Wheels,,2026-01-02", tensorflow=rows)
    diagnosis = diagnose(supposed(packages[first], packages[1 - first], python="3.9"), tables, Policy(level=None))
    likely = [finding for finding in diagnosis.findings if finding.confidence is Confidence.LIKELY]
    assert [finding.name for finding in likely] == names


def test_without_protobuf_it_does_not_apply() -> None:
    assert outcome(supposed(stated("tensorflow", "2.21.0")), "protobuf-mismatch") is OutcomeKind.NOT_APPLICABLE
