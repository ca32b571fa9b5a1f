from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Licence
from tests.builders import TIMED_OUT, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus

RULE = "vgpu-unlicensed"
PRODUCT = "NVIDIA Virtual Compute Server"
UNLICENSED = {"virtualization": "vgpu", "licences": (Licence(PRODUCT, enabled=True, licensed=False),)}


def test_it_is_an_error_once_cuda_refuses() -> None:
    (warning,) = findings_of(RULE, with_gpus(UNLICENSED))
    assert warning.severity is Severity.WARNING
    (error,) = findings_of(RULE, with_gpus(UNLICENSED, libcuda=libcuda(0, 102, "CUDA_ERROR_DEVICE_NOT_LICENSED")))
    assert error.severity is Severity.ERROR
    assert error.message.endswith("CUDA does not start.")


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({**UNLICENSED, "licences": (Licence(PRODUCT, enabled=True, licensed=True),)})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({"virtualization": "none"})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
