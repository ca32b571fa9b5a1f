from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Compiler
from tests.diagnose.rules.examined import building, gcc, outcome, toolkit


@pytest.mark.parametrize(
    ("compilers", "kind"),
    [
        ((gcc("g++", "14"),), OutcomeKind.FOUND),
        ((gcc("g++", "14"), gcc("NVCC_CCBIN", "12", "/usr/bin/g++-12")), OutcomeKind.PASSED),
        ((gcc("gcc", "13"),), OutcomeKind.PASSED),
        ((gcc("CUDAHOSTCXX", "19", "/usr/bin/clang++-19"),), OutcomeKind.NOT_APPLICABLE),
        ((), OutcomeKind.NOT_APPLICABLE),
    ],
)
def test_the_compiler_that_nvcc_would_call(compilers: tuple[Compiler, ...], kind: OutcomeKind) -> None:
    assert outcome(building(toolkit("12.4", "PATH"), compilers=compilers), "host-compiler-unsupported") is kind


def test_a_distributions_toolkit_brings_its_own() -> None:
    debian = msgspec.structs.replace(toolkit("11.8", "PATH"), path="/usr/lib/cuda")
    snapshot = building(debian, compilers=(gcc("g++", "14"),))
    assert outcome(snapshot, "host-compiler-unsupported") is OutcomeKind.NOT_APPLICABLE


def test_without_nvcc_nothing_is_built() -> None:
    runtime = toolkit("12.4", "/usr/local/cuda", nvcc=False)
    assert outcome(building(), "host-compiler-unsupported") is OutcomeKind.NOT_APPLICABLE
    assert outcome(building(runtime), "host-compiler-unsupported") is OutcomeKind.NOT_APPLICABLE
