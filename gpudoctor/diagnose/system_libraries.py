"""CUDA and cuDNN that an assumed build loads from the system."""

from __future__ import annotations

from gpudoctor.derive import EffectiveCuda, FrameworkView, Stack
from gpudoctor.derive.cuda_libraries import takes_system_cuda
from gpudoctor.snapshot import Missing


def unstated_libraries(view: FrameworkView) -> str:
    """Return which CUDA and cuDNN a build needs on the system if nobody stated them; empty if pip can install them with it."""
    stack, cuda = view.environment.stack_or_missing, view.cuda_or_missing
    row = stack.row(view.distribution) if isinstance(stack, Stack) and view.distribution is not None else None
    extra = view.spec.gpu_extra
    if row is None or not extra or any(f'extra=="{extra}"' in text for text in row.requires):
        return ""
    if not isinstance(cuda, EffectiveCuda) or not takes_system_cuda(view.observed, cuda, stack):
        return ""
    needed = {}
    if isinstance(view.machine.observed.toolkits, Missing):
        needed["--system-cuda"] = f"CUDA {cuda.version.short}"
    if row.cudnn is not None and isinstance(view.cudnn.loaded, Missing):
        needed["--system-cudnn"] = f"cuDNN {row.cudnn}"
    stated = "them" if len(needed) > 1 else "it"
    return f"it needs {' and '.join(needed.values())} on the system; state {stated} with {' and '.join(needed)}" if needed else ""
