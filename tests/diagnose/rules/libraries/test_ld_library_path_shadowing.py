from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Asking, FoundBy, LibraryUse, Place
from tests.builders import tensorflow, torch
from tests.diagnose.rules.examined import CUBLAS, OPT, SITE, environment, findings, only, outcome, own, use


def cublas(version: str, **changes: Any) -> LibraryUse:
    name = "libcublas.so.12"
    return use("cublas", name, f"{OPT}/{name}", version=version, shadows=(own("cublas", name),), **changes)


@pytest.mark.parametrize(
    ("version", "asking", "severity"),
    [
        ("12.4.5.8", Asking.OPENED, Severity.WARNING),
        ("12.4.5.8", Asking.LINKED, Severity.ERROR),
        ("12.6.1.4", Asking.LINKED, Severity.WARNING),
        ("12.5.3.2", Asking.LINKED, Severity.NOTE),
        ("", Asking.LINKED, Severity.WARNING),
        ("12", Asking.LINKED, Severity.WARNING),
    ],
)
def test_how_bad_it_is(version: str, asking: Asking, severity: Severity) -> None:
    snapshot = environment(cublas(version, asking=asking), path=OPT, wheels=CUBLAS)
    assert only(snapshot, "ld-library-path-shadowing").severity is severity


def test_with_another_framework_that_can_train_it_is_a_warning() -> None:
    snapshot = environment(cublas("12.4.5.8", asking=Asking.LINKED), path=OPT, wheels=CUBLAS)
    snapshot = msgspec.structs.replace(snapshot, frameworks=(tensorflow(), torch()))
    found = [finding for finding in findings(snapshot, "ld-library-path-shadowing") if finding.subject.key == "tensorflow"]
    assert [finding.severity for finding in found] == [Severity.WARNING]


@pytest.mark.parametrize(
    ("path", "command"),
    [
        (OPT, "unset LD_LIBRARY_PATH"),
        (f"/a:{OPT}/:/b:", "export LD_LIBRARY_PATH=/a:/b"),
        (f"~/my libraries:{OPT}", """export LD_LIBRARY_PATH="$HOME"/'my libraries'"""),
        ("/elsewhere", ""),
    ],
)
def test_the_fix_spells_what_remains(path: str, command: str) -> None:
    found = only(environment(cublas("12.4.5.8"), path=path, wheels=CUBLAS), "ld-library-path-shadowing")
    assert found.fixes[0].command == command


def test_a_folder_that_something_else_needs_stays_behind() -> None:
    driver = use("cuda", "libcuda.so.1", f"{OPT}/libcuda.so.1")
    snapshot = environment(cublas("12.4.5.8"), driver, path=OPT, wheels=CUBLAS)
    (fix,) = only(snapshot, "ld-library-path-shadowing").fixes
    assert fix.command == f'export LD_LIBRARY_PATH={SITE}/nvidia/cublas/lib"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'


def test_a_path_that_replaces_nothing_is_the_users_own() -> None:
    system = (Place("/usr/lib/x86_64-linux-gnu/libcublas.so.12", "/etc/ld.so.cache"),)
    alone = use("cublas", "libcublas.so.12", f"{OPT}/libcublas.so.12", shadows=system)
    assert outcome(environment(alone, path=OPT), "ld-library-path-shadowing") is OutcomeKind.PASSED


def test_what_another_loaded_by_it_counts_too() -> None:
    name = "libnvJitLink.so.12"
    already = use(
        "nvjitlink", name, f"{OPT}/{name}", version="12.4.127", asking=Asking.LINKED, why="already loaded by libcusparse.so.12: LD_LIBRARY_PATH", found_by=FoundBy.LIBRARY_PATH,
        elsewhere=(Place(f"{SITE}/nvidia/nvjitlink/lib/{name}", "wheel", FoundBy.WHEEL),),
    )  # fmt: skip
    found = only(environment(already, path=OPT, wheels="nvidia-nvjitlink-cu12 12.5.82"), "ld-library-path-shadowing")
    assert found.severity is Severity.ERROR


def test_steps_back_are_not_shown() -> None:
    name = "libcublas.so.12"
    back = Place(f"{SITE}/tensorflow/python/../../nvidia/cublas/lib/{name}", "DT_RUNPATH of x", FoundBy.RUNPATH)
    snapshot = environment(use("cublas", name, f"{OPT}/{name}", version="12.4.5.8", shadows=(back,)), path=OPT, wheels=CUBLAS)
    evidence = only(snapshot, "ld-library-path-shadowing").evidence
    assert [one.value for one in evidence if "installed for" in one.what] == [f"{SITE}/nvidia/cublas/lib/{name}"]
