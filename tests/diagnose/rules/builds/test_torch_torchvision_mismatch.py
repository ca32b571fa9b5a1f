from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Distribution, Fact, Packages
from tests.builders import machine, torch
from tests.diagnose.rules.asking import findings_of
from tests.diagnose.rules.packaged import LINUX, outcome

INDEX = "https://download.pytorch.org/whl"


@pytest.mark.parametrize(
    ("own", "vision", "fits"),
    [
        ("2.6.0+cu124", "0.21.0+cu124", True),
        ("2.6.0+cu124", "0.21.0", True),
        ("2.6.0+cu124", "0.21.0+cu126", True),
        ("2.6.0+cu124", "0.21.0+cu118", False),
        ("2.6.0+cu124", "0.21.0+cpu", False),
        ("2.1.0+cu121", "0.16.0+cu122", True),
        ("2.0.1+cu118", "0.15.2+cu117", False),
    ],
)
def test_torch_and_torchvision_must_be_built_for_one_cuda(own: str, vision: str, fits: bool) -> None:
    packages = Packages((Distribution("torch", own, "/site"), Distribution("torchvision", vision, "/site")))
    live = machine(1, packages=packages, frameworks=(torch(),))
    assert outcome(live, "torch-torchvision-mismatch") is (OutcomeKind.PASSED if fits else OutcomeKind.FOUND)


@pytest.mark.parametrize(
    ("own", "vision", "command"),
    [
        ("2.6.0+cu118", "0.21.0+cu126", f"install torchvision==0.21.0+cu118 --index-url {INDEX}/cu118"),
        ("2.99.0+cu118", "0.21.0", f"install torch==2.99.0+cu124 torchvision==0.21.0+cu124 --index-url {INDEX}/cu124"),
        ("2.99.0+cu118", "0.21.0+cu126", f"install torch==2.99.0+cu126 torchvision==0.21.0+cu126 --index-url {INDEX}/cu126"),
    ],
    ids=["a release for this torch", "none in the tables", "none, and another build"],
)
def test_both_get_one_build(own: str, vision: str, command: str) -> None:
    packages = Packages((Distribution("torch", own, "/site"), Distribution("torchvision", vision, "/site")))
    snapshot = machine(1, host=LINUX, packages=packages, frameworks=(torch(version=Fact(own, "torch/version.py")),))
    (finding,) = findings_of("torch-torchvision-mismatch", snapshot)
    assert finding.fixes[0].command.endswith(command)
