from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, Missing, Place
from tests.diagnose.rules.examined import OPT, SITE, environment, only, outcome, use

RULE = "cudnn-missing"
NAME = "libcudnn.so.9"


def test_a_cudnn_that_is_nowhere() -> None:
    found = only(environment(use("cudnn", NAME)), RULE)
    assert f"tensorflow 2.18.0 cannot find {NAME}: it is not installed" in found.message


def test_a_package_whose_files_are_gone_is_reinstalled() -> None:
    found = only(environment(use("cudnn", NAME), wheels="nvidia-cudnn-cu12 9.3.0.75"), RULE)
    assert found.fixes[0].command.endswith("--force-reinstall --no-deps nvidia-cudnn-cu12==9.3.0.75")


def test_other_outcomes() -> None:
    beside = (Place(f"{SITE}/nvidia/cudnn/lib/{NAME}", "wheel"),)
    assert outcome(environment(use("cudnn", NAME, elsewhere=beside)), RULE) is OutcomeKind.PASSED
    assert outcome(environment(use("cudnn", NAME, f"{OPT}/{NAME}")), RULE) is OutcomeKind.PASSED
    assert outcome(environment(libraries=Missing(Cause.TIMED_OUT, "did not respond")), RULE) is OutcomeKind.COULD_NOT_TELL
