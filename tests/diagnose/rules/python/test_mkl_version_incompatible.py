"""GD644 mkl-version-incompatible."""

from __future__ import annotations

import pytest

from gpudoctor.snapshot import Snapshot, Stage, StageKind, StageState
from tests.builders import machine, smoke
from tests.diagnose.rules.asking import findings_of

RULE = "mkl-version-incompatible"


def importing(error: str) -> Snapshot:
    """A machine on which the import of TensorFlow fails with this error."""
    stages = (Stage(StageKind.IMPORT, StageState.FAILED, error=error),)
    return machine(smoke=(smoke(framework="tensorflow", stages=stages, kernels=(), trainings=()),))


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        ("ImportError: libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent", "conda install 'mkl<2024.1'"),
        (
            "Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL is incompatible with libgomp.so.1",
            "export MKL_THREADING_LAYER=GNU",
        ),
    ],
)
def test_each_mechanism_has_its_own_fix(error: str, fix: str) -> None:
    (finding,) = findings_of(RULE, importing(error))
    assert finding.fixes[0].command == fix


def test_another_undefined_symbol_is_not_mkls() -> None:
    assert findings_of(RULE, importing("ImportError: libtorch_cuda.so: undefined symbol: ncclCommSplit")) == []


def test_an_import_that_works_has_no_such_finding() -> None:
    assert findings_of(RULE, machine(smoke=(smoke(framework="tensorflow"),))) == []
