"""GD806: mixed-gpu-models."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.diagnose.gpu_facts import GIB
from gpudoctor.diagnose.rule import need, rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import CudaDevice, NvmlGpu


@rule("GD806", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", predicts=False)
def mixed_gpu_models(hardware: Hardware, site: Site) -> Iterator[Problem]:
    """The GPUs are not all of one model.

    ## Why it matters
    A training over all of them goes at the pace of the slowest and with the memory of the smallest, and a build must hold code for each.
    For a training on one of them it does not matter.

    ## What to do
    Choose alike GPUs with CUDA_VISIBLE_DEVICES; CUDA_DEVICE_ORDER=PCI_BUS_ID makes its numbers those of nvidia-smi.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/
    """
    usable = [gpu for gpu in hardware if isinstance(gpu.cuda, CudaDevice)]
    names = [need(gpu.name, Rung.NVML) for gpu in usable]
    kinds = list(dict.fromkeys(names))
    if len(kinds) < 2:
        return
    counted = ", ".join(f"{names.count(kind)} × {kind}" for kind in kinds)  # noqa: RUF001 -- a cross counts
    sizes = [gpu.nvml.memory_total for gpu in usable if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.memory_total, int)]
    smallest = f", the smallest with {min(sizes) // GIB} GiB" if sizes else ""
    alike = ",".join(str(gpu.cuda.ordinal) for gpu in usable if gpu.name == kinds[0] and isinstance(gpu.cuda, CudaDevice))
    yield Problem(
        message=f"CUDA shows GPUs of {len(kinds)} models: {counted}{smallest}.",
        severity=None if site.scheduler else Severity.NOTE,
        evidence=(Evidence("models", counted, "NVML"),),
        fixes=(Fix(f"Use only those like {kinds[0]}", f"export CUDA_VISIBLE_DEVICES={alike}"),),
    )
