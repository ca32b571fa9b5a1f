from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Distribution
from tests.diagnose.rules.asking import findings_of
from tests.diagnose.rules.packaged import WINDOWS, found, outcome, stated, supposed


def test_directml_reaches_the_gpu_on_windows() -> None:
    packages = (stated("tensorflow-cpu", "2.12.0"), stated("tensorflow-directml-plugin", "0.4.0"))
    assert outcome(supposed(*packages, host=WINDOWS), "windows-native-no-gpu") is OutcomeKind.NOT_APPLICABLE


def test_the_plugin_that_windows_has_not_is_part_of_the_same() -> None:
    plugin = Distribution("jax-cuda12-plugin", "0.8.0", "jax[cuda12] 0.8.0")
    findings = found(supposed(stated("jax", "0.8.0", extras=("cuda12",)), plugin, host=WINDOWS))
    assert [(finding.name, bool(finding.because_of)) for finding in findings] == [
        ("windows-native-no-gpu", False),
        ("package-not-installable", True),
    ]


@pytest.mark.parametrize(("version", "told"), [("2.12.0.dev20220901", 1), ("2.11.0.dev20220901", 0), ("2.11.0", 1), ("2.10.0", 0)])
def test_a_nightly_of_the_first_minor_version_without_cuda_may_be_older(version: str, told: int) -> None:
    assert len(findings_of("windows-native-no-gpu", supposed(stated("tensorflow", version), host=WINDOWS))) == told


@pytest.mark.parametrize(
    ("package", "python", "instead"),
    [
        (stated("tensorflow", "2.15.0"), "3.10", "python3.10 -m pip install tensorflow-cpu==2.10.1 tensorflow-directml-plugin"),
        (stated("tensorflow", "2.15.0"), "3.12", None),
        (stated("jax", "0.8.0"), "3.10", None),
    ],
    ids=["with wheels for this Python", "without", "a framework that DirectML has not"],
)
def test_directml_is_the_alternative_where_it_can_be_installed(package: Distribution, python: str, instead: str | None) -> None:
    (finding,) = findings_of("windows-native-no-gpu", supposed(package, host=WINDOWS, python=python))
    assert finding.fixes[0].command == "wsl --install"
    assert [fix.command for fix in finding.fixes[1:]] == ([instead] if instead else [])
