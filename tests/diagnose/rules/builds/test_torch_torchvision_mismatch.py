from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Distribution, Packages
from tests.builders import machine, torch
from tests.diagnose.rules.packaged import outcome


@pytest.mark.parametrize(
    ("vision", "fits"),
    [("0.21.0+cu124", True), ("0.21.0", True), ("0.21.0+cu118", False), ("0.21.0+cpu", False)],
)
def test_torch_and_torchvision_must_be_built_for_one_cuda(vision: str, fits: bool) -> None:
    packages = Packages(
        (Distribution("torch", "2.6.0+cu124", "/site"), Distribution("torchvision", vision, "/site", requires=("torch==2.6.0",)))
    )
    live = machine(1, packages=packages, frameworks=(torch(),))
    assert outcome(live, "torch-torchvision-mismatch") is (OutcomeKind.PASSED if fits else OutcomeKind.FOUND)
