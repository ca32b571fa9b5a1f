from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Fact, Framework, Place
from tests.builders import tensorflow, torch
from tests.diagnose.rules.examined import JAX, environment, only, outcome, xla


@pytest.mark.parametrize(
    ("framework", "severity"),
    [
        (tensorflow(), Severity.ERROR),
        (tensorflow(version=Fact("2.10.1", "dist-info")), Severity.WARNING),
        (JAX, Severity.ERROR),
    ],
)
def test_keras_compiles_unasked_since_2_11(framework: Framework, severity: Severity) -> None:
    assert only(environment(xla("libdevice"), framework=framework), "libdevice-not-found").severity is severity


def test_a_folder_that_has_it_is_named_to_xla() -> None:
    there = (Place("/usr/local/cuda-12.5/nvvm/libdevice/libdevice.10.bc", "toolkit"),)
    found = only(environment(xla("libdevice", elsewhere=there)), "libdevice-not-found")
    assert found.fixes[0].command == 'export XLA_FLAGS="$XLA_FLAGS --xla_gpu_cuda_data_dir="/usr/local/cuda-12.5'


def test_torch_has_no_xla() -> None:
    assert outcome(environment(framework=torch()), "libdevice-not-found") is OutcomeKind.NOT_APPLICABLE
