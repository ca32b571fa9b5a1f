from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Distribution, Packages, Snapshot
from tests.builders import machine, torch
from tests.diagnose.rules.examined import only, outcome

RULE = "torch-torchaudio-mismatch"


def beside_torch(audio: str, *requires: str) -> Snapshot:
    packages = (Distribution("torch", "2.6.0+cu124", "/site"), Distribution("torchaudio", audio, "/site", requires=requires))
    return machine(1, packages=Packages(packages), frameworks=(torch(),))


def test_the_release_for_this_torch_is_installed() -> None:
    found = only(beside_torch("2.5.1+cu124", "torch==2.5.1"), RULE)
    assert (
        found.message
        == "torchaudio 2.5.1+cu124 requires torch==2.5.1, but torch 2.6.0+cu124 is installed: torchaudio's compiled operators do not load."
    )
    index = "https://download.pytorch.org/whl/cu124"
    assert found.fixes[0].command == f"/env/bin/python -m pip install torchaudio==2.6.0+cu124 --index-url {index}"


def test_other_outcomes() -> None:
    assert outcome(beside_torch("2.6.0+cu124", "torch==2.6.0"), RULE) is OutcomeKind.PASSED
    assert outcome(machine(1, packages=Packages(()), frameworks=(torch(),)), RULE) is OutcomeKind.NOT_APPLICABLE
    assert outcome(machine(1, frameworks=(torch(),)), RULE) is OutcomeKind.NOT_ASKED
