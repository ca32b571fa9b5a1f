from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Fact
from tests.builders import torch
from tests.diagnose.rules.examined import add_on, only, outcome, with_add_ons


def test_each_release_names_its_own_libraries() -> None:
    found = only(with_add_ons(add_on(wanted=("libcudart.so.12", "libcufft.so.10"))), "extension-built-for-other-cuda")
    assert "libcufft.so.10" in found.message


def test_a_cuda_that_is_not_in_the_tables_is_told_by_the_runtime() -> None:
    future = torch(built_with_cuda=Fact("99.1", "torch/version.py"))
    found = only(with_add_ons(add_on(wanted=("libcudart.so.12", "libcublas.so.12")), framework=future), "extension-built-for-other-cuda")
    assert found.evidence[0].value == "libcudart.so.12"


def test_what_was_not_read_is_not_passed() -> None:
    assert outcome(with_add_ons(add_on()), "extension-built-for-other-cuda") is OutcomeKind.NOT_ASKED
