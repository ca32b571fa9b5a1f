from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import Fact, Missing, Place
from tests.builders import tensorflow
from tests.diagnose.rules.examined import SITE, environment, only, outcome, xla


@pytest.mark.parametrize(
    ("release", "ptxas", "another", "kind"),
    [
        ("2.18.0", "12.1.105", False, OutcomeKind.FOUND),  # writes PTX of 12.5
        ("2.21.0", "12.1.105", False, OutcomeKind.PASSED),  # writes older PTX for it
        ("2.21.0", "11.2.152", False, OutcomeKind.FOUND),  # passes over it, and there is no other
        ("2.21.0", "11.2.152", True, OutcomeKind.NOT_APPLICABLE),
    ],
)
def test_newer_releases_live_with_an_older_ptxas(release: str, ptxas: str, another: bool, kind: OutcomeKind) -> None:
    shadows = (Place(f"{SITE}/nvidia/cuda_nvcc/bin/ptxas", "a folder in XLA's own list"),) if another else ()
    use = xla("ptxas", "/usr/bin/ptxas", ptxas, shadows=shadows)
    snapshot = environment(use, framework=tensorflow(version=Fact(release, "dist-info")))
    assert outcome(snapshot, "ptxas-too-old") is kind


def test_a_ptxas_older_than_the_gpu() -> None:
    snapshot = environment(xla("ptxas", "/usr/bin/ptxas", "12.5.82"))
    nvml = snapshot.nvml
    assert not isinstance(nvml, Missing)
    assert isinstance(nvml.gpus, tuple)
    blackwell = msgspec.structs.replace(nvml, gpus=(msgspec.structs.replace(nvml.gpus[0], compute_capability="12.0"),))
    found = only(msgspec.structs.replace(snapshot, nvml=blackwell), "ptxas-too-old")
    assert "does not support sm_120" in found.message
    assert found.confidence is Confidence.CERTAIN
    assert found.fixes[0].command.endswith("--upgrade nvidia-cuda-nvcc-cu12")


def test_a_ptxas_that_is_as_new_as_the_build() -> None:
    assert outcome(environment(xla("ptxas", "/usr/bin/ptxas", "12.5.82")), "ptxas-too-old") is OutcomeKind.PASSED


def test_a_ptxas_of_an_unknown_release() -> None:
    unread = environment(xla("ptxas", "/usr/bin/ptxas"))
    assert outcome(unread, "ptxas-too-old") is OutcomeKind.COULD_NOT_TELL
    assert outcome(environment(xla("ptxas", "/usr/bin/ptxas", "99.1")), "ptxas-too-old") is OutcomeKind.NOT_ASKED
