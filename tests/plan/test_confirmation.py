"""Tables and resolver until they agree: uv's answers are played by a script, as uv gives them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import msgspec
import pytest

from gpudoctor.plan import Combination
from gpudoctor.plan.assumed_machine import assumed_machine
from gpudoctor.plan.confirmation import confirmed_plan
from gpudoctor.plan.resolution import ConfirmedPlan
from gpudoctor.report.plan_text import assumption_text
from tests.plan.planned import MATRIX, TENSORFLOW, TORCH, asked, pins, planned

_UV = """#!/bin/sh
while [ $# -gt 1 ]; do case "$1" in --output-file) out=$2;; --python-version) python=$2;; esac; asked=${asked:-$3}; shift; done
%s
"""
_LOCK = 'lock-version = "1.0"\\n'
_PACKAGE = '[[packages]]\\nname = "%s"\\nversion = "%s"\\nwheels = [{ url = "https://x/y-%s.whl", size = %d }]\\n'


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the program; it comes first on PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def play(uv: Path, script: str) -> None:
    """Let uv do this; $asked is the file of requirements, $out the lock file to write."""
    program = uv / "uv"
    program.write_text(_UV % script)
    program.chmod(0o755)


def package(name: str, version: str, tags: str = "py3-none-any", size: int = 1000) -> str:
    """One package of a lock file, for printf."""
    return _PACKAGE % (name, version, tags, size)


def lock(*packages: str) -> str:
    """The command that writes a lock file."""
    return f"printf '{_LOCK}{''.join(packages)}' > $out"


def confirmed(gpu: str, driver: str, *requirements: str, seconds: float = 20, python: str = "3.12") -> ConfirmedPlan:
    return confirmed_plan(asked(gpu, driver, *requirements, python=python), MATRIX, seconds=seconds)


def test_what_uv_resolves_completes_the_plan(uv: Path) -> None:
    play(uv, lock(package("torch", "2.15.0", "cp312-cp312-manylinux_2_28_x86_64"), package("transformers", "5.1.0")))
    found = confirmed("L4", "580.65.06", TORCH, "transformers")
    assert (found.plan.exit_code, found.plan.resolver) == (0, "uv")
    assert pins(found.plan) == ["torch==2.15.0", "transformers==5.1.0"]
    assert found.plan.environment is not None
    assert (found.plan.environment.locked, found.plan.environment.download_bytes) == (("torch==2.15.0", "transformers==5.1.0"), 2000)
    assert found.lock.startswith('lock-version = "1.0"')


def test_a_package_with_compiled_code_that_no_table_lists_stays_unknown(uv: Path) -> None:
    play(uv, lock(package("torch", "2.15.0"), package("mysterious", "1.0", "cp312-cp312-manylinux_2_28_x86_64")))
    found = confirmed("L4", "580.65.06", TORCH, "mysterious")
    assert found.plan.exit_code == 3
    assert found.plan.environment is not None
    assert "mysterious 1.0 has compiled code and no table lists it" in found.plan.environment.not_checked[0]


def test_a_set_that_was_not_fully_checked_is_resolved_too(uv: Path) -> None:
    play(uv, lock(package("xgboost", "3.4.1"), package("lightgbm", "4.7.0")))
    found = confirmed("none", "", "xgboost<=3.4.1", "lightgbm<=4.7.0")
    assert (found.plan.exit_code, found.plan.resolver) == (3, "uv")
    assert found.plan.environment is not None
    assert found.plan.environment.locked == ("xgboost==3.4.1", "lightgbm==4.7.0")
    assert found.lock


def test_a_source_that_uv_does_not_build_is_no_contradiction(uv: Path) -> None:
    play(uv, "printf 'error: No solution found\n  cause: Because flash-attn has no wheels, it is impossible.\n' >&2; exit 1")
    found = confirmed("RTX 5090", "570.124.06", "flash-attn<=2.8.3.post2", TORCH)
    assert (found.plan.exit_code, found.plan.resolver, found.lock) == (3, "tables", "")
    assert pins(found.plan)[0] == "flash-attn==2.8.3.post2"
    assert "Because flash-attn has no wheels" in found.plan.resolver_note


def test_a_conflict_becomes_a_bound(uv: Path) -> None:
    conflict = "  cause: Because old==1 depends on torch<2.10 and you require torch==2.15.0, we can conclude that it is impossible."
    fits = lock(package("torch", "2.9.1"), package("old", "1"))
    play(uv, f"if grep -q 'torch==2.15.0$' $asked; then echo 'error: No solution found\n{conflict}' >&2; exit 1; fi; {fits}")
    found = confirmed("L4", "580.65.06", TORCH, "old")
    assert pins(found.plan)[0] == "torch==2.9.1"
    assert found.plan.environment is not None
    assert found.plan.environment.pins[0].reason == "the newest release that works here and satisfies torch<=2.15.0"
    assert found.plan.resolver_note.startswith("Nothing newer, because uv found a conflict: Because old==1 depends on torch<2.10")


@pytest.mark.parametrize("states", [False, True])
def test_a_python_without_a_wheel_of_some_other_package_is_passed_over(uv: Path, states: bool) -> None:
    """Keras requires h5py, which has no wheel for the newest Python yet; a Python that the user states stays."""
    wanted = ("torch==2.15.0", "keras==3.15.1")
    from_the_tables = planned("L4", "580.65.06", *wanted).environment
    assert from_the_tables is not None
    first = from_the_tables.python
    conflict = "  cause: Because h5py has no usable wheels and keras depends on h5py, we can conclude that it is impossible."
    fits = lock(package("torch", "2.15.0"), package("keras", "3.15.1"))
    play(uv, f"if [ $python = {first} ]; then echo 'error: No solution found\n{conflict}' >&2; exit 1; fi; {fits}")
    found = confirmed("L4", "580.65.06", *wanted, python=first if states else "").plan
    assert found.environment is not None
    assert (found.environment.python == first, found.resolver) == (states, "tables" if states else "uv")
    assert ("without building a package" in found.resolver_note) is states


SOURCES = {
    "a package that another requires": (
        "  cause: Because all versions of promise have no usable wheels and keras>=3 depends on promise, we can conclude that it is impossible.",
        ("promise",),
        0,
    ),
    "a stated package": (
        (
            "  cause: Because openai-whisper==20250625 has no usable wheels and you require openai-whisper==20250625, it is impossible.\n\n"
            "hint: Wheels are required for \\`openai-whisper\\` because building from source is disabled for all packages"
        ),
        ("openai-whisper",),
        0,
    ),
    "a package that no table lists": (
        "  cause: Because all versions of my_kernels have no usable wheels and you require my-kernels, it is impossible.",
        ("my-kernels",),
        3,
    ),
    "a compiled package": (
        "  cause: Because h5py>=3.9.0,<3.10 has no usable wheels and all versions of other-one have no usable wheels, it is impossible.",
        ("h5py", "other-one"),
        3,
    ),
}


@pytest.mark.parametrize("case", SOURCES)
def test_a_package_that_has_only_its_source_makes_nothing_older_and_nothing_broken(uv: Path, case: str) -> None:
    cause, names, code = SOURCES[case]
    fits = lock(package("torch", "2.15.0"), package("keras", "3.15.1"))
    passed = " && ".join(f"grep -q '^{name} ; ' $over" for name in names)
    play(uv, f'over=$(dirname $out)/overrides.txt; if {passed}; then {fits}; else echo "error: No solution found\n{cause}" >&2; exit 1; fi')
    found = confirmed("L4", "580.65.06", "torch==2.15.0", "keras", python="3.13")
    assert (found.plan.exit_code, found.plan.resolver, found.lock) == (code, "uv", "")
    assert pins(found.plan)[0] == "torch==2.15.0"
    assert found.plan.environment is not None
    assert found.plan.environment.locked == ()
    assert f"{' and '.join(names)} ha" in found.plan.resolver_note
    assert bool(found.plan.environment.not_checked) is (code == 3)


def test_a_contradiction_is_told_in_uvs_words(uv: Path) -> None:
    play(uv, "printf 'error: No solution found\\n  cause: Because a needs b\\n         and you need c, it is impossible.\\n' >&2; exit 1")
    found = confirmed("L4", "580.65.06", TORCH)
    assert (found.plan.exit_code, found.plan.environment) == (1, None)
    assert found.plan.headline == "No set of releases satisfies these requirements: Because a needs b and you need c, it is impossible."


def test_what_uv_chooses_is_checked_by_the_rules(uv: Path) -> None:
    cudnn = lock(package("tensorflow", "2.20.0"), package("nvidia-cudnn-cu12", "9.11.0.98"))
    older = lock(package("tensorflow", "2.20.0"), package("nvidia-cudnn-cu12", "9.10.2.21"))
    play(uv, f"if grep -q cudnn $asked; then {older}; else {cudnn}; fi")
    found = confirmed("v100-sxm2", "550.54.14", TENSORFLOW)
    assert "nvidia-cudnn-cu12==9.10.2.21" in pins(found.plan)


UNAVAILABLE = [
    ("echo 'error: Failed to fetch: https://index/x' >&2; exit 2", "uv cannot reach the package index"),
    ("echo 'error: unexpected argument' >&2; exit 2", "uv failed: unexpected argument"),
    ("printf 'packages = 1' > $out", "uv wrote a lock file that cannot be read"),
    ("kill -9 $$", "uv was killed by SIGKILL"),
]


@pytest.mark.parametrize(("script", "said"), UNAVAILABLE)
def test_without_an_answer_the_tables_decide_and_the_plan_says_so(uv: Path, script: str, said: str) -> None:
    play(uv, script)
    found = confirmed("L4", "580.65.06", TORCH)
    assert (pins(found.plan), found.plan.resolver, found.lock) == (["torch==2.15.0"], "tables", "")
    assert found.plan.resolver_note.startswith(said)
    assert found.plan.resolver_note.endswith("planned from the tables alone.")


GLIBCS = [("", "2_35"), ("2.17", "2_17"), ("2.30", "2_28"), ("2.34", "2_34"), ("2.39", "2_39"), ("2.99", "2_40"), ("2.12", "2_17")]
"""That of the machine, and what uv is asked for."""


@pytest.mark.parametrize(("glibc", "platform"), GLIBCS)
def test_uv_chooses_wheels_for_the_machines_glibc(uv: Path, glibc: str, platform: str) -> None:
    play(uv, f'if [ -z "$platform" ]; then exit 9; fi; echo $platform > {uv}/asked; {lock(package("torch", "2.15.0"))}')
    program = uv / "uv"
    program.write_text(program.read_text().replace('case "$1" in', 'case "$1" in --python-platform) platform=$2;;'))
    question = asked("L4", "580.65.06", TORCH, python="3.12")
    found = confirmed_plan(
        msgspec.structs.replace(question, machine=msgspec.structs.replace(question.machine, libc=glibc and f"glibc {glibc}")),
        MATRIX,
        seconds=20,
    )
    assert (uv / "asked").read_text() == f"x86_64-manylinux_{platform}\n"
    shown = [assumption_text(assumption) for assumption in found.plan.machine if assumption.what == "glibc"]
    assert shown == [f"glibc {glibc}" if glibc else "glibc 2.35 (assumed)"]


def test_uv_installs_no_interpreter_for_a_plan(uv: Path) -> None:
    play(uv, f'echo "$all" > {uv}/asked; {lock(package("torch", "2.15.0"))}')
    program = uv / "uv"
    program.write_text(program.read_text().replace("\n", '\nall="$*"\n', 1))
    assert confirmed("L4", "580.65.06", TORCH).plan.resolver == "uv"
    assert "--no-python-downloads" in (uv / "asked").read_text().split()


def test_a_uv_that_hangs_is_ended(uv: Path) -> None:
    play(uv, "sleep 60")
    began = time.monotonic()
    found = confirmed("L4", "580.65.06", TORCH, seconds=1)
    assert time.monotonic() - began < 30
    assert "not finished after" in found.plan.resolver_note


def test_without_uv_the_plan_is_from_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.plan.resolver.uv_path", lambda: "")
    assert confirmed("L4", "580.65.06", TORCH).plan.resolver_note == "uv is not installed: planned from the tables alone."


@pytest.mark.parametrize("stated", ["", "15.2"])
def test_uv_chooses_wheels_for_a_stated_or_an_assumed_macos(uv: Path, monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    monkeypatch.setenv("MACOSX_DEPLOYMENT_TARGET", stated)
    play(uv, f"echo $MACOSX_DEPLOYMENT_TARGET > {uv}/asked; {lock(package('torch', '2.15.0'))}")
    mac = assumed_machine(Combination(requirements=(TORCH,), os="macos"), MATRIX)
    found = confirmed_plan(msgspec.structs.replace(asked("", "", TORCH, python="3.12"), machine=mac), MATRIX, seconds=20)
    assert (uv / "asked").read_text() == f"{stated or '14.0'}\n"
    assert [assumption_text(assumption) for assumption in found.plan.machine if assumption.what == "macOS"] == [
        f"macOS {stated}" if stated else "macOS 14.0 (assumed)"
    ]
