from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Fact, Place, Variables
from tests.diagnose.rules.examined import JAX, environment, findings, only, outcome, xla


def test_the_driver_may_compile() -> None:
    flag = "--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found"
    told = environment(xla("ptxas"), variables=Variables({"XLA_FLAGS": f"--xla_dump_to=/d {flag}=true"}))
    assert outcome(told, "ptxas-not-found") is OutcomeKind.PASSED
    refused = environment(xla("ptxas"), variables=Variables({"XLA_FLAGS": f"{flag}=false"}))
    assert outcome(refused, "ptxas-not-found") is OutcomeKind.FOUND


@pytest.mark.parametrize(
    ("release", "kind", "severity"),
    [
        ("0.4.28", OutcomeKind.FOUND, Severity.ERROR),
        ("0.4.38", OutcomeKind.FOUND, Severity.NOTE),
        ("0.10.2", OutcomeKind.NOT_APPLICABLE, None),
    ],
)
def test_newer_releases_of_jax_carry_a_compiler(release: str, kind: OutcomeKind, severity: Severity | None) -> None:
    snapshot = environment(xla("ptxas"), framework=msgspec.structs.replace(JAX, version=Fact(release, "dist-info")))
    assert outcome(snapshot, "ptxas-not-found") is kind
    assert [finding.severity for finding in findings(snapshot, "ptxas-not-found")] == [severity] * (severity is not None)


def test_a_folder_that_has_it_is_named_to_xla() -> None:
    there = (Place("/usr/local/cuda-12.5/bin/ptxas", "toolkit"),)
    found = only(environment(xla("ptxas", elsewhere=there)), "ptxas-not-found")
    assert found.fixes[0].command == 'export XLA_FLAGS="$XLA_FLAGS --xla_gpu_cuda_data_dir="/usr/local/cuda-12.5'
