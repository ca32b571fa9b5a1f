from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, Damage, DamageKind, Libraries, Missing
from tests.diagnose.rules.examined import SITE, environment, only, outcome, use

RULE = "cuda-library-damaged"
CUBLAS = f"{SITE}/nvidia/cublas/lib/libcublas.so.12"


def test_the_package_that_holds_the_file_is_reinstalled() -> None:
    damage = Damage(CUBLAS, DamageKind.EMPTY, "an empty file", owner="nvidia-cublas-cu12")
    snapshot = environment(use("cublas", "libcublas.so.12", damaged=(damage,)), wheels="nvidia-cublas-cu12 12.5.3.2")
    found = only(snapshot, RULE)
    assert "libcublas.so.12 is damaged (an empty file)" in found.message
    assert found.fixes[0].command.endswith("--force-reinstall --no-deps nvidia-cublas-cu12==12.5.3.2")


def test_a_file_that_cannot_be_read_is_made_readable() -> None:
    damage = Damage(CUBLAS, DamageKind.UNREADABLE, "Permission denied")
    assert only(environment(use("cublas", "libcublas.so.12", damaged=(damage,))), RULE).fixes[0].command == f"chmod a+rX {CUBLAS}"


def test_other_outcomes() -> None:
    assert outcome(environment(), RULE) is OutcomeKind.PASSED
    assert outcome(environment(libraries=Missing(Cause.TIMED_OUT, "no sign of life")), RULE) is OutcomeKind.COULD_NOT_TELL
    assert outcome(environment(libraries=Libraries(frameworks=())), RULE) is OutcomeKind.NOT_APPLICABLE
