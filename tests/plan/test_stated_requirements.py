"""Requirements as the user writes them, compared with the reference implementation of PEP 508."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement

from gpudoctor.errors import UsageError
from gpudoctor.plan.stated_requirements import stated_requirements

WRITTEN = [
    "torch",
    " torch ",
    "torch==2.5.1",
    "torch == 2.5.1",
    "torch (>=2.4)",
    "torch(==2.5)",
    "torch>=2.4,<2.6,!=2.5.0",
    "torch~=2.4",
    "torch==2.5.*",
    "torch==2.5.1+cu121",
    "tensorflow[and-cuda]==2.16.1",
    "jax[cuda12, k8s]<0.6",
    "torch>=2; python_version >= '3.9'",
    'torch ; sys_platform == "linux" and (python_version < "3.13" or extra == "x")',
    "a.b_c-d>=1",
    "torch>=2.6rc1",
    "torch==2.5.dev0",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_agrees_with_the_reference_parser(text: str) -> None:
    found, left_out = stated_requirements([text], {"sys_platform": "linux", "python_version": "3.11"})
    reference = Requirement(text.strip())
    ((name, requirement),) = found.items()
    assert left_out == ()
    assert name == reference.name.lower().replace("_", "-").replace(".", "-")
    assert set(requirement.extras) == reference.extras
    assert sorted(requirement.specifier.split(",")) == sorted(str(part) for part in reference.specifier) or not requirement.specifier


@given(st.text(alphabet="torch2.5=<>~![],;()@ '\"-_x*+", max_size=14))
def test_refuses_what_the_reference_refuses(text: str) -> None:
    try:
        stated_requirements([text], {})
    except UsageError:
        return
    try:
        Requirement(text)
    except InvalidRequirement:
        pytest.fail(f"{text!r} was taken for a requirement")
