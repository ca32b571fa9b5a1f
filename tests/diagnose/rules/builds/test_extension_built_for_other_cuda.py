from __future__ import annotations

import pytest

from gpudoctor.findings import FixKind, OutcomeKind
from gpudoctor.snapshot import Fact
from tests.builders import torch
from tests.diagnose.rules.examined import add_on, only, outcome, with_add_ons
from tests.plan.samples import checked


def test_each_release_names_its_own_libraries() -> None:
    found = only(with_add_ons(add_on(wanted=("libcudart.so.12", "libcufft.so.10"))), "extension-built-for-other-cuda")
    assert "libcufft.so.10" in found.message


def test_a_cuda_that_is_not_in_the_tables_is_told_by_the_runtime() -> None:
    future = torch(built_with_cuda=Fact("99.1", "torch/version.py"))
    found = only(with_add_ons(add_on(wanted=("libcudart.so.12", "libcublas.so.12")), framework=future), "extension-built-for-other-cuda")
    assert found.evidence[0].value == "libcudart.so.12"


def test_what_was_not_read_is_not_passed() -> None:
    assert outcome(with_add_ons(add_on()), "extension-built-for-other-cuda") is OutcomeKind.NOT_ASKED


INDEX = "https://download.pytorch.org/whl"


@pytest.mark.parametrize(
    ("requirements", "python", "commands"),
    [
        (
            ("bitsandbytes==0.45.0", "torch==2.9.0+cu130"),
            "3.11",
            [
                "python3.11 -m pip install bitsandbytes==0.50.2",
                f"python3.11 -m pip install --force-reinstall torch==2.9.0+cu126 --index-url {INDEX}/cu126",
            ],
        ),
        (
            ("bitsandbytes==0.45.0", "torch==2.9.0+cu130"),
            "3.9",
            [
                "python3.9 -m pip install bitsandbytes==0.48.2",
                f"python3.9 -m pip install --force-reinstall torch==2.9.0+cu126 --index-url {INDEX}/cu126",
            ],
        ),
        (
            ("xformers==0.0.35", "torch==2.12.0"),
            "3.11",
            [f"python3.11 -m pip install --force-reinstall torch==2.12.0+cu126 --index-url {INDEX}/cu126"],
        ),
        (("xformers==0.0.32.post2", "torch==2.9.0+cu130"), "3.11", None),
        (("bitsandbytes==0.48.2", "torch==2.9.0+cu130"), "3.11", None),
    ],
    ids=["a newer release", "the newest for this Python", "only another torch", "a release for another torch", "a release that fits"],
)
def test_a_described_extension_is_updated_or_its_torch_replaced(
    requirements: tuple[str, ...], python: str, commands: list[str] | None
) -> None:
    findings = checked(*requirements, gpus=("L4",), driver="580.65.06", python=python).findings
    found = [finding for finding in findings if finding.name == "extension-built-for-other-cuda"]
    assert [[fix.command for fix in finding.fixes] for finding in found] == ([] if commands is None else [commands])
    for finding in found:
        assert [fix.kind for fix in finding.fixes] == [FixKind.FIX, FixKind.INSTEAD][: len(finding.fixes)]


def test_the_libraries_are_named() -> None:
    names = tuple(f"lib{name}.so.10" for name in ("cublas", "cufft", "cusolver", "cusparse"))
    found = only(with_add_ons(add_on(wanted=names)), "extension-built-for-other-cuda")
    assert f"links {', '.join(names[:3])} and {names[3]}, but" in found.message
    assert found.evidence[0].value == " ".join(names)
