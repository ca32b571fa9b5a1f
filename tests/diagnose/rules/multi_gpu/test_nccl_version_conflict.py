from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Distribution, FoundBy, Framework, LibraryUse, Packages
from tests.builders import ABSENT, tensorflow, torch
from tests.diagnose.rules.examined import OPT, environment, only, outcome, own, use


def nccl(version: str, owner: Any = ABSENT, owners: tuple[str, ...] = ()) -> LibraryUse:
    other = () if owner is not ABSENT else (own("nccl", "libnccl.so.2"),)
    return use("nccl", "libnccl.so.2", f"{OPT}/libnccl.so.2", version=version, shadows=other, owner=owner, owners=owners)


@pytest.mark.parametrize(
    ("framework", "gpus", "version", "severity"),
    [
        (torch(), 1, "2.21.4", Severity.ERROR),
        (torch(), 1, "2.22.3", Severity.NOTE),
        (tensorflow(), 1, "2.18.3", Severity.NOTE),
        (tensorflow(), 2, "2.18.3", Severity.WARNING),
    ],
)
def test_severity_by_version_and_number_of_gpus(framework: Framework, gpus: int, version: str, severity: Severity) -> None:
    snapshot = environment(nccl(version), framework=framework, gpus=gpus, wheels="nvidia-nccl-cu12 2.21.5")
    assert only(snapshot, "nccl-version-conflict").severity is severity


def test_two_packages_in_one_folder() -> None:
    shared = nccl("2.20.5", "nvidia-nccl-cu12 or nvidia-nccl-cu13", owners=("nvidia-nccl-cu12", "nvidia-nccl-cu13"))
    found = only(environment(shared, framework=torch(), wheels="nvidia-nccl-cu12 2.21.5"), "nccl-version-conflict")
    assert "share a folder" in found.fixes[0].title


def test_one_copy_is_no_conflict() -> None:
    alone = nccl("2.20.5", "nvidia-nccl-cu12")
    assert outcome(environment(alone, framework=torch()), "nccl-version-conflict") is OutcomeKind.PASSED
    owned = nccl("2.20.5", "nvidia-nccl-cu12", owners=("nvidia-nccl-cu12",))
    assert outcome(environment(owned, framework=torch(), wheels="nvidia-nccl-cu12 2.21.5"), "nccl-version-conflict") is OutcomeKind.PASSED
    assert outcome(environment(framework=torch()), "nccl-version-conflict") is OutcomeKind.NOT_APPLICABLE


def test_the_package_that_the_framework_does_not_require_is_removed() -> None:
    shared = nccl("2.20.5", "nvidia-nccl-cu12 or nvidia-nccl-cu13", owners=("nvidia-nccl-cu12", "nvidia-nccl-cu13"))
    requires = ("nvidia-nccl-cu12==2.21.5",)
    packages = Packages(
        (
            Distribution("torch", "2.5.1", OPT, requires=requires),
            Distribution("nvidia-nccl-cu12", "2.21.5", OPT),
            Distribution("nvidia-nccl-cu13", "2.20.5", OPT),
        )
    )
    found = only(environment(shared, framework=torch(), packages=packages), "nccl-version-conflict")
    assert found.fixes[0].title.startswith("Remove nvidia-nccl-cu13, then reinstall")
    assert "nvidia-nccl-cu12==2.21.5" in found.fixes[0].command


def test_a_copy_that_no_variable_names_is_preceded_by_the_frameworks_own() -> None:
    other = msgspec.structs.replace(nccl("2.20.5"), found_by=FoundBy.OTHER, why="ldconfig")
    found = only(environment(other, framework=torch(), wheels="nvidia-nccl-cu12 2.21.5"), "nccl-version-conflict")
    assert found.fixes[0].command == f'export LD_LIBRARY_PATH={own("nccl", "").path.rstrip("/")}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"'
