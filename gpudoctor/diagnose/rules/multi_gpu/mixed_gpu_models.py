from collections import Counter

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.hardware import GIB
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import count_list
from gpudoctor.snapshot import CudaDevice, NvmlGpu


@rule("GD806", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False)
def mixed_gpu_models(machine: MachineView) -> Problems:
    """Machine has GPUs of different models."""
    usable = [gpu for gpu in machine.gpus if isinstance(gpu.observed.cuda, CudaDevice)]
    models = Counter(gpu.name for gpu in usable)
    if len(models) < 2:
        return
    first, counted = next(iter(models)), count_list((count, model) for model, count in models.items())
    sizes = [gpu.nvml.memory_total for gpu in usable if isinstance(gpu.observed.nvml, NvmlGpu)]
    known_sizes = [size for size in sizes if isinstance(size, int)]
    smallest = f"; the smallest has {min(known_sizes) // GIB} GiB" if known_sizes else ""
    alike = ",".join(str(gpu.cuda.ordinal) for gpu in usable if gpu.name == first)
    yield Problem(
        message=f"CUDA lists {len(models)} GPU models: {counted}{smallest}.",
        severity=None if machine.site.scheduler else Severity.NOTE,
        evidence=(Evidence("models", counted, "NVML"),),
        fixes=(Fix(f"Use only the {first}", f"export CUDA_VISIBLE_DEVICES={alike}"),),
    )
