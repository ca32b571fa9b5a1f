from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.hardware import reset_gpu
from gpudoctor.diagnose.advice.system import reboot
from gpudoctor.diagnose.rule import CUDA_FAILS, GPU_NOT_OPENED, Join, advises, explains, rule
from gpudoctor.diagnose.rules.hardware.alarms import alarm_confidence, alarm_evidence
from gpudoctor.findings import Evidence, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing, NvmlGpu
from gpudoctor.status_codes import NvmlError

_ERROR_ACTIONS = {
    "reset": "a reset",
    "reboot": "a reboot of the machine",
    "bus-reset": "a reset of its PCIe bus",
    "system-reboot": "a reboot of the machine",
}
"""The recovery actions without which the GPU cannot be used, and what it needs then."""
_WARNING_ACTIONS = {
    "drain-p2p": "all programs with peer-to-peer access to end",
    "drain-and-reset": "a reset once its current work has ended; give it no new work",
    "recover-imex-domain": "its IMEX domain to be recovered",
}


@rule("GD109", severity=Severity.ERROR, breaks=Rung.NVML, impact=Impact.AT_RISK, predicts=False)
@advises(reboot())
@explains(GPU_NOT_OPENED, "The driver does not open a GPU that needs a reset.", Join.GPU)
@explains(CUDA_FAILS, "CUDA cannot use a GPU that needs a reset; cuInit can fail on the others.")
def gpu_requires_reset(gpu: GpuView) -> Problems:
    """GPU needs a reset or reboot."""
    reported = _reported_action(gpu)
    wanted = _ERROR_ACTIONS.get(reported) or _WARNING_ACTIONS.get(reported) or _unknown_action_text(reported)
    alarm = None if wanted and isinstance(gpu.nvml.alarms, Missing) else gpu.nvml_error(NvmlError.RESET_REQUIRED)
    action = reported if alarm or wanted else gpu.recovery_action
    if not alarm and not wanted:
        return
    severe = bool(alarm) or action in _ERROR_ACTIONS
    reboots = "reboot" in action and not gpu.machine.site.container
    yield Problem(
        message=f"{gpu.label} needs {wanted or 'a reset'}.",
        severity=gpu.error_unless_kernel_ran if severe else Severity.WARNING,
        confidence=alarm_confidence(gpu),
        evidence=(*alarm_evidence(alarm), *((Evidence("recovery action", action, "NVML"),) if wanted else ())),
        fixes=(reboot() if reboots else reset_gpu(gpu, "Drain the GPU" if action == "drain-and-reset" else ""),),
    )


def _unknown_action_text(action: str) -> str:
    """Return what an action means that is newer than gpudoctor; empty where none is needed."""
    return f"a recovery action that gpudoctor does not know ({action})" if action not in {"", "none"} else ""


def _reported_action(gpu: GpuView) -> str:
    """Return the recovery action; empty where NVML names none."""
    seen = gpu.observed.nvml
    return seen.recovery_action if isinstance(seen, NvmlGpu) and isinstance(seen.recovery_action, str) else ""
