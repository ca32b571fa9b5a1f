from __future__ import annotations

import pytest

from gpudoctor.derive.demands import Demand, Violation
from gpudoctor.derive.specifiers import parse_requirement
from gpudoctor.diagnose.advice.requirements import accepted_requirement, short_accepted_requirement
from gpudoctor.snapshot import Distribution


@pytest.mark.parametrize(
    ("bounds", "version", "short"),
    [
        ("!=4.21.0,!=4.21.1,<6.0.0dev,>=3.20.3", "3.19.6", "<6.0.0dev,>=3.20.3"),
        (">=3.20,!=4.21.0,!=4.21.1", "4.21.1", ">=3.20,!=4.21.1"),
        ("!=4.21.0", "4.21.0", "!=4.21.0"),
        ("!=4.21.0", "5", "!=4.21.0"),
        ("<2", "2.1", "<2"),
    ],
)
def test_a_title_leaves_out_releases_that_are_excluded_one_by_one(bounds: str, version: str, short: str) -> None:
    wanted = parse_requirement(f"protobuf{bounds}")
    assert wanted is not None
    violations = [Violation(Demand(Distribution("tensorflow", "2.19.0", "/site"), wanted, ""), Distribution("protobuf", version, "/site"))]
    assert accepted_requirement(violations) == f"protobuf{bounds}"
    assert short_accepted_requirement(violations) == f"protobuf{short}"
