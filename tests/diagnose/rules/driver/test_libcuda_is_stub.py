from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Level, OutcomeKind, Policy
from tests.builders import TIMED_OUT, bare, machine
from tests.diagnose.rules.asking import MATRIX, findings_of, kinds_of
from tests.diagnose.rules.driver.libcudas import loaded, on_disk, own

RULE = "libcuda-is-stub"
STUB = "/usr/local/cuda/lib64/stubs/libcuda.so"


@pytest.mark.parametrize(("code", "path"), [(34, STUB), (34, ""), (999, STUB)])
def test_the_code_or_the_path_shows_a_stub(code: int, path: str) -> None:
    (finding,) = findings_of(RULE, machine(1, libcuda=loaded(code, path), cuda_files=on_disk(own())))
    assert "the loader finds it before the driver's /opt/driver/libcuda.so.1" in finding.message


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, libcuda=loaded(0, STUB))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, libcuda=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


def test_no_fault_of_libcuda_without_a_gpu() -> None:
    stubbed = bare(libcuda=loaded(34, STUB))
    assert {finding.name for finding in diagnose(stubbed, MATRIX, Policy(level=Level.LOOK)).findings} == {"no-gpu"}
