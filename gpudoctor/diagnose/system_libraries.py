"""CUDA and cuDNN that an assumed build loads from the system."""

from __future__ import annotations

from gpudoctor.derive import EffectiveCuda, FrameworkView, Stack
from gpudoctor.derive.cuda_libraries import WHEEL_NAMES, brings_runtime, takes_system_cuda
from gpudoctor.derive.cudnn_code import optional_cudnn_module
from gpudoctor.derive.specifiers import parse_requirements
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Missing
from gpudoctor.versions import Version

_PACKAGES_IN_EXTRAS = (WHEEL_NAMES["cudart"], WHEEL_NAMES["cudnn"], "cuda-toolkit")
_SYSTEM_CUDA_PACKAGES = ("cupy-cuda", "onnxruntime-gpu", "ctranslate2", "mxnet-cu")
"""How the names of packages begin whose wheels hold no CUDA library, and open those of the system or of other packages:
https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html#requirements and https://opennmt.net/CTranslate2/installation.html;
the files in the wheel of MXNet 1.9.1."""


def unstated_libraries(view: FrameworkView) -> str:
    """Return which CUDA and cuDNN a stated build needs on the system if nobody stated them; empty if pip installs them with it."""
    stack, cuda, own = view.environment.stack_or_missing, view.cuda_or_missing, view.distribution
    if not isinstance(stack, Stack) or not isinstance(cuda, EffectiveCuda) or own is None or not stack.stated(own):
        return ""
    row = stack.row(own)
    if row is None or not _loads_system_cuda(view, row):
        return ""
    needed = {}
    if (
        isinstance(view.machine.observed.toolkits, Missing)
        and takes_system_cuda(view.observed, cuda, stack)
        and not _has_toolkit_package(stack)
    ):
        needed["--system-cuda"] = f"CUDA {_version_text(cuda.version)}"
    if isinstance(cuda.cudnn, Version) and _lacks_cudnn(view, stack, cuda) and not optional_cudnn_module(own.name):
        needed["--system-cudnn"] = f"cuDNN {_version_text(cuda.cudnn)}"
    what = f"it needs {' and '.join(needed.values())} on the system{_extras_clause(row)}"
    return f"{what}; to check that, run `gpudoctor compat` with {' and '.join(needed)}" if needed else ""


def _extras_clause(row: FrameworkRelease) -> str:
    """Return the extras that install CUDA and cuDNN, as the end of the sentence; empty if there are none."""
    asked = (wanted for wanted in parse_requirements(row.requires) if wanted.name.startswith(_PACKAGES_IN_EXTRAS))
    extras = sorted({wanted.marker.partition('extra=="')[2].rstrip('"') for wanted in asked} - {""})
    return f" or {row.distribution}[{','.join(extras)}]" if extras else ""


def _loads_system_cuda(view: FrameworkView, row: FrameworkRelease) -> bool:
    """Return whether a build without CUDA's libraries loads the system's; a rule reports one whose CUDA extra was left out without a system CUDA."""
    extra = view.spec.gpu_extra
    if extra:
        return not isinstance(view.machine.observed.toolkits, Missing) or not any(f'extra=="{extra}"' in text for text in row.requires)
    return view.spec.loads_system_cuda or view.spec.plugin is not None or row.distribution.startswith(_SYSTEM_CUDA_PACKAGES)


def _has_toolkit_package(stack: Stack) -> bool:
    """Return whether pip installs the CUDA runtime as a part of the package cuda-toolkit."""
    return any(demand.requirement.name == "cuda-toolkit" and "cudart" in demand.requirement.extras for demand in stack.demands)


def _lacks_cudnn(view: FrameworkView, stack: Stack, cuda: EffectiveCuda) -> bool:
    """Return whether no cuDNN is stated, and pip installs none."""
    return isinstance(view.cudnn.loaded, Missing) and not brings_runtime(stack, (f"{WHEEL_NAMES['cudnn']}-cu{cuda.version.major}",))


def _version_text(version: Version) -> str:
    """Return a version as precisely as it is known: "12.2", or "12" alone."""
    return version.text if version.text.count(".") < 2 else version.short
