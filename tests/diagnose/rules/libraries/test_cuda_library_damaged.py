from __future__ import annotations

import pytest

from gpudoctor.diagnose.advice.damaged_files import damage_text
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
    assert only(environment(use("cublas", "libcublas.so.12", damaged=(damage,))), RULE).fixes[0].command == f"sudo chmod -R a+rX {CUBLAS}"


def test_other_outcomes() -> None:
    assert outcome(environment(), RULE) is OutcomeKind.PASSED
    assert outcome(environment(libraries=Missing(Cause.TIMED_OUT, "did not respond")), RULE) is OutcomeKind.COULD_NOT_TELL
    assert outcome(environment(libraries=Libraries(frameworks=())), RULE) is OutcomeKind.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("kind", "titles", "command"),
    [
        (DamageKind.UNREADABLE, ["Make it readable by all users"], f"sudo chmod -R a+rX {CUBLAS}"),
        (
            DamageKind.NOEXEC,
            ["Remount the file system without noexec", "Recreate the environment on a file system without noexec."],
            f'sudo mount -o remount,exec "$(findmnt -n -o TARGET -T {CUBLAS})"',
        ),
        (
            DamageKind.LFS_POINTER,
            ["Reinstall nvidia-cublas-cu12", "Fetch the file with Git LFS if it is in a Git repository"],
            "/env/bin/python -m pip install --force-reinstall --no-deps nvidia-cublas-cu12==12.5.3.2",
        ),
    ],
)
def test_each_damage_has_its_own_fix(kind: DamageKind, titles: list[str], command: str) -> None:
    damage = Damage(CUBLAS, kind, "as it is", owner="nvidia-cublas-cu12")
    found = only(environment(use("cublas", "libcublas.so.12", damaged=(damage,)), wheels="nvidia-cublas-cu12 12.5.3.2"), RULE)
    assert [fix.title for fix in found.fixes] == titles
    assert found.fixes[0].command == command
    assert [fix.command for fix in found.fixes[1:] if fix.command] == [f"git -C {SITE}/nvidia/cublas/lib lfs pull"] * (
        kind is DamageKind.LFS_POINTER
    )


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (Damage("/l/a.so", DamageKind.MISSING, "not found", asked_by="/env/b.so"), "/l/a.so, which b.so needs, is missing (not found)"),
        (Damage("/l/a.so", DamageKind.MISSING, "not found"), "/l/a.so is missing (not found)"),
        (Damage("/l/a.so", DamageKind.EMPTY, "an empty file", asked_by="/env/b.so"), "/l/a.so is damaged (an empty file)"),
    ],
)
def test_a_missing_file_is_told_with_the_one_that_needs_it(damage: Damage, said: str) -> None:
    assert damage_text(damage) == said


@pytest.mark.parametrize(
    ("damage", "titles"),
    [
        (Damage(CUBLAS, DamageKind.EMPTY, "empty", owner="system"), [f"Reinstall the system package that contains {CUBLAS}; "]),
        (Damage(CUBLAS, DamageKind.MISSING, "gone", owner="toolkit"), [f"Reinstall the CUDA toolkit that contains {CUBLAS}"]),
        (Damage("libstdc++.so.6", DamageKind.MISSING, "gone"), []),
        (Damage("libstdc++.so.6", DamageKind.EMPTY, "empty"), ["Reinstall tensorflow"]),
        (Damage("libtensorflow_cc.so.2", DamageKind.MISSING, "gone"), ["Reinstall tensorflow"]),
        (Damage(CUBLAS, DamageKind.EMPTY, "empty", owners=("nvidia-cublas-cu12", "other")), ["Reinstall nvidia-cublas-cu12"]),
    ],
)
def test_what_owns_a_file_is_reinstalled(damage: Damage, titles: list[str]) -> None:
    found = only(environment(use("cublas", "libcublas.so.12", damaged=(damage,)), wheels="nvidia-cublas-cu12 12.5.3.2"), RULE)
    assert len(found.fixes) == len(titles)
    assert all(fix.title.startswith(title) for fix, title in zip(found.fixes, titles, strict=True))
