"""What NVML would show of the machine that a text describes."""

from __future__ import annotations

from gpudoctor.codes import NvmlError
from gpudoctor.matrix import Matrix
from gpudoctor.read.sections.stated import NOT_STATED, Stated
from gpudoctor.snapshot import Nvml, NvmlGpu, Status

_NVML_ERRORS = (
    ("API mismatch", NvmlError.LIB_RM_VERSION_MISMATCH),
    ("Driver/library version mismatch", NvmlError.LIB_RM_VERSION_MISMATCH),
    ("Driver Not Loaded", NvmlError.DRIVER_NOT_LOADED),
    ("couldn't communicate with the NVIDIA driver", NvmlError.DRIVER_NOT_LOADED),
    ("Insufficient Permissions", NvmlError.NO_PERMISSION),
    ("GPU is lost", NvmlError.GPU_IS_LOST),
    ("Unknown Error", NvmlError.UNKNOWN),
)
_MODES = {"Default": "default", "E. Process": "exclusive-process", "E. Thread": "exclusive-thread", "Prohibited": "prohibited"}
"""nvidia-smi's words for NVML's compute modes."""


def nvml(stated: Stated, matrix: Matrix) -> Nvml:
    """Return what NVML would show. Whoever asks about a GPU has one, even if the text does not say which."""
    error, gpus = stated.get("nvml error"), stated.all("gpu:")
    code = next((code for words, code in _NVML_ERRORS if error and words.lower() in error.value.lower()), None)
    listed = tuple(_gpu(index, name, gpus[name].value.strip(), stated, matrix) for index, name in enumerate(sorted(gpus, key=int)))
    return Nvml(
        init=NOT_STATED if error is None or code is None else Status(int(code), code.name, error.value),
        driver_version=stated.value("driver"),
        nvml_version=stated.value("libraries"),
        cuda_served=stated.value("cuda served"),
        gpus=listed or (NvmlGpu(index=0, address=NOT_STATED, name=NOT_STATED, compute_capability=stated.value("capability")),),
    )


def _gpu(index: int, key: str, name: str, stated: Stated, matrix: Matrix) -> NvmlGpu:
    product = matrix.gpu(name)
    known = product.compute_capability if product else ""
    memory, mode = stated.get(f"memory:{key}"), stated.get(f"compute mode:{key}")
    used, total = (int(number) << 20 for number in memory.value.replace("MiB", "").split("/")) if memory else (NOT_STATED, NOT_STATED)
    return NvmlGpu(
        index=index,
        address=NOT_STATED,
        name=name,
        compute_capability=str(known) if known else stated.value("capability"),
        memory_used=used,
        memory_total=total,
        compute_mode=_MODES[mode.value] if mode else NOT_STATED,
    )
