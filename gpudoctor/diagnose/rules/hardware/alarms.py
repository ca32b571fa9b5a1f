"""Evidence from NVML's alarms about a GPU."""

from gpudoctor.derive import GpuView
from gpudoctor.findings import Confidence, Evidence
from gpudoctor.snapshot import Missing, Status


def alarm_evidence(alarm: Status | None) -> tuple[Evidence, ...]:
    """Return NVML's answer as evidence; empty where there is none."""
    return (Evidence("NVML", f"{alarm.code} {alarm.text}", "libnvidia-ml.so.1"),) if alarm else ()


def alarm_confidence(gpu: GpuView) -> Confidence:
    """Return how sure it is that an alarm is about this GPU: if NVML did not start, it may be about any."""
    any_gpu = isinstance(gpu.observed.nvml, Missing) and len(gpu.machine.gpus) > 1
    return Confidence.POSSIBLE if any_gpu else Confidence.CERTAIN
