from __future__ import annotations

import pytest

from gpudoctor.snapshot import Distribution
from tests.diagnose.rules.packaged import found, roots, stated, supposed
from tests.plan.samples import checked


@pytest.mark.parametrize(
    ("package", "words"),
    [
        (stated("tensorflow-gpu", "2.12.0"), "tensorflow-gpu 2.12.0 is a stub"),
        (stated("tensorflow", "2.17.7"), "tensorflow 2.17.7 does not exist; 2.17.1 is followed by 2.21.0"),
    ],
)
def test_missing_releases_cannot_be_installed(package: Distribution, words: str) -> None:
    (finding,) = found(supposed(package))
    assert finding.name == "package-not-installable"
    assert words in finding.message


def test_what_one_stated_package_requires_is_one_finding_that_names_it() -> None:
    """On a Mac, jax[cuda12] lacks its plugin, its client and NCCL."""
    causes = checked("jax[cuda12]==0.6.2", os="macos").root_causes
    (cause,) = (finding for finding in causes if finding.name == "package-not-installable")
    assert " (required by jax 0.6.2) has no wheel for macOS (arm64)" in cause.message
    (fix,) = cause.fixes
    assert fix.title.endswith("or remove jax[cuda12]==0.6.2 from the plan.")


@pytest.mark.parametrize("version", ["2.22.0", "2.10.0", "2.17.0rc1", "3.0.0.dev20260101", "2.17.0+mine"])
def test_what_the_tables_cannot_know_is_no_fault(version: str) -> None:
    assert roots(supposed(stated("tensorflow", version))) == []


@pytest.mark.parametrize(
    ("stated", "around"),
    [
        ("torch==1.14.0", "1.13.1 is followed by 2.0.0"),
        ("torch==1.14.0+cu117", "1.13.1 is followed by 2.0.0"),
        ("torch==2.6.1+cu124", "2.6.0 is followed by 2.7.0"),
        ("tensorflow==1.16.0", "1.15.5 is followed by 2.0.0"),
        ("jax==0.4.99", "0.4.38 is followed by 0.5.0"),
        ("tensorflow-gpu==2.13.0", "2.12.0, a stub, was the last release"),
    ],
)
def test_a_release_that_was_left_out_between_others_or_after_the_last_does_not_exist_and_is_judged_no_further(
    stated: str, around: str
) -> None:
    cause, *_ = checked(stated, gpus=("A100-SXM4-80GB",), driver="580.65.06").root_causes
    assert cause.name == "package-not-installable"
    assert cause.message.endswith(f"does not exist; {around}.")
    assert cause.fixes[0].installs


def test_what_a_package_that_ended_is_called_now_replaces_it() -> None:
    cause, *_ = checked("tensorflow-gpu==2.13.0", gpus=("A100-SXM4-80GB",), driver="580.65.06", python="3.10").root_causes
    assert cause.fixes[0].installs == ("tensorflow[and-cuda]==2.14.1",)
    assert cause.fixes[0].removes == ("tensorflow-gpu",)


@pytest.mark.parametrize("version", ["2.8.0+cu126", "2.8.0+cpu", "2.8.0+mine", "2.2.2+cu118", "2.9.0+cu129", "1.8.0+cu101", "2.8.0+cu118"])
def test_builds_that_are_official_or_not_known_are_no_fault(version: str) -> None:
    assert "package-not-installable" not in dict(roots(supposed(stated("torch", version))))


@pytest.mark.parametrize(
    ("package", "fix"),
    [
        (stated("tensorflow", "2.17.0", "gone-libs==8.6.1"), "Use another GPU or another framework"),  # these tables have no driver for it
        (stated("helper", "1.0", "gone-libs==8.6.1"), "Remove helper from the plan"),
    ],
)
def test_a_requirement_that_nobody_published_asks_for_another_release(package: Distribution, fix: str) -> None:
    (finding,) = (one for one in found(supposed(package)) if one.name == "package-not-installable")
    assert finding.message == f"{package.name} {package.version} requires gone-libs==8.6.1, which the package index does not have."
    assert finding.fixes[0].title.startswith(fix)
