from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.hardware import GIB
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Fix, Impact, Problem, Rung, Severity
from gpudoctor.snapshot import CudaDevice, NvmlGpu


@rule("GD806", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False)
def mixed_gpu_models(machine: MachineView) -> Iterator[Problem]:
    """Machine has GPUs of different models."""
    usable = [gpu for gpu in machine.gpus if isinstance(gpu.observed.cuda, CudaDevice)]
    names = [gpu.name for gpu in usable]
    models = list(dict.fromkeys(names))
    if len(models) < 2:
        return
    counted = ", ".join(f"{names.count(model)} × {model}" for model in models)  # noqa: RUF001 -- a cross counts
    sizes = [gpu.nvml.memory_total for gpu in usable if isinstance(gpu.observed.nvml, NvmlGpu)]
    known_sizes = [size for size in sizes if isinstance(size, int)]
    smallest = f"; the smallest has {min(known_sizes) // GIB} GiB" if known_sizes else ""
    alike = ",".join(str(gpu.cuda.ordinal) for gpu in usable if gpu.name == models[0])
    yield Problem(
        message=f"CUDA lists {len(models)} GPU models: {counted}{smallest}.",
        severity=None if machine.site.scheduler else Severity.NOTE,
        evidence=(Evidence("models", counted, "NVML"),),
        fixes=(Fix(f"Use only the {models[0]}", f"export CUDA_VISIBLE_DEVICES={alike}"),),
    )
