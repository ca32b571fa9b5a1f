from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, Damage, DamageKind, Fact, FrameworkLibraries, Libraries, Missing, Snapshot
from tests.builders import machine, torch
from tests.diagnose.rules.examined import environment, only, outcome

RULE = "framework-files-damaged"
LIBRARY = "/usr/lib/python3/dist-packages/torch/lib/libtorch_cuda.so"


def damaged(*broken: Damage, location: str = "/env/lib/python3.12/site-packages/torch") -> Snapshot:
    framework = torch(version=Fact("1.13.0a0", "torch/version.py"), location=location)
    seen = FrameworkLibraries("torch", uses=(), broken=broken)
    return environment(framework=framework, wheels="torch 1.13.0a0", libraries=Libraries(frameworks=(seen,)))


def test_debians_own_torch_is_reinstalled_by_apt() -> None:
    found = only(damaged(Damage(LIBRARY, DamageKind.EMPTY, "an empty file"), location="/usr/lib/python3/dist-packages/torch"), RULE)
    assert found.fixes[0].command == "sudo apt-get install --reinstall python3-torch-cuda"


def test_another_is_reinstalled_by_pip() -> None:
    found = only(damaged(Damage(LIBRARY, DamageKind.EMPTY, "an empty file")), RULE)
    assert found.fixes[0].command.endswith("torch==1.13.0a0")


def test_other_outcomes() -> None:
    assert outcome(environment(framework=torch()), RULE) is OutcomeKind.PASSED
    assert outcome(machine(1), RULE) is OutcomeKind.NOT_ASKED
    assert outcome(environment(libraries=Missing(Cause.TIMED_OUT, "did not respond")), RULE) is OutcomeKind.COULD_NOT_TELL
