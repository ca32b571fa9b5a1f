"""How large a batch fits into what is free of a GPU's memory."""

from __future__ import annotations

from gpudoctor.conditions import parse_condition, run_of_condition
from gpudoctor.derive import GpuView
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import NvmlGpu

_EXAMPLE_RUN = "fit=resnet50"


def largest_batches(gpu: GpuView) -> tuple[Evidence, ...]:
    """Return the largest batch of each required run, or of a well-known network; nothing if the free memory is unknown."""
    nvml = gpu.observed.nvml
    free = nvml.memory_free if isinstance(nvml, NvmlGpu) else nvml
    if not isinstance(free, int):
        return ()
    required = [condition for text in gpu.machine.policy.require if (condition := parse_condition(text)).subject == "fit"]
    runs = [run_of_condition(condition) for condition in required or [parse_condition(_EXAMPLE_RUN)]]
    batches = (f"{run.model.name} in {run.asked.precision.upper()} with {run.asked.optimizer}: {run.largest_batch(free):,}" for run in runs)
    return (Evidence("largest batch in the free memory", "; ".join(batches), "gpudoctor fit"),)
