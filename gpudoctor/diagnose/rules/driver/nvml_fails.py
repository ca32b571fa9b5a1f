from gpudoctor.derive import MachineView, not_applicable
from gpudoctor.diagnose.advice.system import read_log, reboot
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Action, Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Cause, Missing, Status
from gpudoctor.status_codes import NvmlError

_ERRORS_OF_OTHER_RULES = {
    NvmlError.NO_PERMISSION,
    NvmlError.INSUFFICIENT_POWER,
    NvmlError.RESET_REQUIRED,
    NvmlError.LIB_RM_VERSION_MISMATCH,
}
"""Errors of nvmlInit that have rules of their own."""

_RESTART_CONTAINER = Fix("Restart the container; if nvidia-smi fails on the host too, reboot the host.", action=Action.RESTART_JOB)


@rule("GD244", severity=Severity.WARNING, breaks=Rung.NVML, impact=Impact.PARTLY, predicts=False)
def nvml_fails(machine: MachineView) -> Problems:
    """NVML fails although CUDA works."""
    if machine.cuda_init.code:
        not_applicable("CUDA does not work either")
    nvml = machine.nvml
    failure = _nvml_failure(nvml.init, nvml.gpus)
    if failure is None:
        return
    yield Problem(
        message=f"NVML fails although CUDA works: {failure.what} {failure.value}. nvidia-smi and NCCL depend on NVML.",
        evidence=(failure, Evidence("cuInit", "0 CUDA_SUCCESS", "libcuda")),
        fixes=(_RESTART_CONTAINER,) if machine.site.container else (read_log(), reboot()),
    )


def _nvml_failure(init: Status | Missing, gpus: object) -> Evidence | None:
    """Return what NVML answered when it started or listed the GPUs; None if it did both."""
    if isinstance(init, Status) and init.code:
        return (
            None if init.code in _ERRORS_OF_OTHER_RULES else Evidence("nvmlInit", f"returns {init.code} ({init.name})", "libnvidia-ml.so.1")
        )
    if isinstance(gpus, Missing) and gpus.cause in {Cause.FAILED, Cause.LOST}:
        return Evidence("the list of GPUs", f"is missing ({gpus.reason})", "libnvidia-ml.so.1")
    return None
