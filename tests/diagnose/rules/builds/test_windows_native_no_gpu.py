from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Distribution
from tests.diagnose.rules.packaged import WINDOWS, found, outcome, stated, supposed


def test_directml_reaches_the_gpu_on_windows() -> None:
    packages = (stated("tensorflow-cpu", "2.12.0"), stated("tensorflow-directml-plugin", "0.4.0"))
    assert outcome(supposed(*packages, host=WINDOWS), "windows-native-no-gpu") is OutcomeKind.NOT_APPLICABLE


def test_the_plugin_that_windows_has_not_is_part_of_the_same() -> None:
    plugin = Distribution("jax-cuda12-plugin", "0.8.0", "jax[cuda12] 0.8.0")
    findings = found(supposed(stated("jax", "0.8.0", extras=("cuda12",)), plugin, host=WINDOWS))
    assert [(one.name, bool(one.because_of)) for one in findings] == [("windows-native-no-gpu", False), ("package-not-installable", True)]
