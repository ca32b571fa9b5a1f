from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind, Policy, Severity
from gpudoctor.snapshot import Distribution, Host, Packages, Platform, Snapshot
from tests.builders import TIMED_OUT, bare, machine, tensorflow, torch
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.plan.samples import checked

RULE = "metal-plugin-missing"
MAC = Host(platform=Platform.MACOS, architecture="arm64")


def mac(*packages: str, **changes: Any) -> Snapshot:
    installed = Packages(tuple(Distribution(name, "2.16.1", "/env/lib") for name in packages))
    return bare(**{"host": MAC, "frameworks": (tensorflow(cuda_build=False),), "packages": installed, **changes})


def test_tensorflow_without_the_plugin_is_found() -> None:
    (finding,) = findings_of(RULE, mac("tensorflow"))
    assert finding.severity is Severity.ERROR
    assert "tensorflow-metal==" in finding.fixes[0].command
    (noted,) = findings_of(RULE, mac("tensorflow"), Policy(level=None, allow_cpu=True))
    assert noted.severity is Severity.NOTE


def test_other_outcomes() -> None:
    assert kinds_of(RULE, mac("tensorflow", "tensorflow-metal")) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, mac("torch", frameworks=(torch(),))) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, mac(packages=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(("release", "named"), [("1.10.2", [RULE]), ("1.12.1", []), ("2.9.1", [])])
def test_pytorch_needs_no_plugin_but_a_build_with_metal(release: str, named: list[str]) -> None:
    causes = checked(f"torch=={release}", os="macos").root_causes
    assert [cause.name for cause in causes] == named
    assert all(
        "1.12.0 is the first release with it" in cause.message and cause.fixes[0].installs[0].startswith("torch==1.12") for cause in causes
    )
