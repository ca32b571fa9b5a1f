"""How large a batch fits into what is free of a GPU's memory."""

from __future__ import annotations

from gpudoctor.derive import GpuView
from gpudoctor.findings import Evidence
from gpudoctor.preflight import parse, run_of
from gpudoctor.snapshot import NvmlGpu

_WELL_KNOWN = "fit=resnet50"


def largest_batches(gpu: GpuView) -> tuple[Evidence, ...]:
    """Return the largest batch of each required run, or of a well-known network; nothing if the free memory is unknown."""
    nvml = gpu.observed.nvml
    free = nvml.memory_free if isinstance(nvml, NvmlGpu) else nvml
    if not isinstance(free, int):
        return ()
    required = [condition for text in gpu.machine.policy.require if (condition := parse(text)).subject == "fit"]
    runs = [run_of(condition) for condition in required or [parse(_WELL_KNOWN)]]
    batches = (f"{run.model.name} in {run.asked.precision.upper()} with {run.asked.optimizer}: {run.largest_batch(free):,}" for run in runs)
    return (Evidence("largest batch in the free memory", "; ".join(batches), "gpudoctor fit"),)
