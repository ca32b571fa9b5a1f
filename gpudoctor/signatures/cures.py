"""What people say helped, and the cause that it tells of: a variable, an option, a command or the order of two imports."""

from __future__ import annotations

from typing import NamedTuple

from gpudoctor.signatures.phrases import contrast_pattern, cure_pattern, failed_cure_pattern
from gpudoctor.signatures.signature import Hint, Signature


class Cure(NamedTuple):
    """A step by its pattern, the cause that it cures, what follows from it, and a sentence that says so."""

    step: str
    cause: str
    meaning: str
    line: str


_LOADER_VARIABLE = r"LD_LIBRARY_PATH"
_REMOVE = r"\b(?:unset(?:ting)?|remov(?:e|ed|ing)|clear(?:ed|ing)?|empt(?:y|ied|ying)|delet(?:e|ed|ing)|without|drop(?:ped|ping)?)"
_ADD = r"\b(?:put(?:ting)?|add(?:ed|ing)?|set(?:ting)?|export(?:ed|ing)?|with|include[sd]?|including|pass(?:ed|ing)?|defin(?:e|ed|ing))"
_FAILS_WITHOUT = r"\W{0,2}(?:$|[:(]|(?:it |that |everything |the \w{1,10} )?(?:does ?n.?t|fails?|crash|breaks?|error|not\b|no\b|nothing))"
"""What follows where a program works with a step and not without it."""
_DRIVER_LIBS = r"/(?:run/opengl-driver|usr/lib(?:64)?/nvidia(?:-\d{3})?|usr/local/nvidia)\b"
"""Folders of the driver's own libraries: of NixOS, of Linux distributions, and of containers as nvidia-docker 1 and GKE start them."""
_ON = r"['\"`\]]{0,2} {0,2}(?:=|:|to|is|as) {0,2}['\"`]?(?:true|1|on)\b"
_OFF = r"['\"`\]]{0,2} {0,2}(?:=|:|to|is|as) {0,2}['\"`]?(?:false|0|off)\b"
_WSL_LIB = r"/usr/lib/wsl/lib"
_BUNDLED_LIBS = r"(?:nvidia/\S{0,30}/?lib|-packages/nvidia)"

CURES = (
    Cure(
        rf"(?:TF_FORCE_GPU_ALLOW_GROWTH(?:{_ON})?|(?:set_)?(?:memory_growth|allow_growth)(?:\([^)\n]{{0,40}}\)|{_ON})?|XLA_PYTHON_CLIENT_PREALLOCATE{_OFF}|XLA_PYTHON_CLIENT_MEM_FRACTION ?= ?[.\d]{{1,5}}|XLA_PYTHON_CLIENT_ALLOCATOR ?= ?platform)",
        "gpu-memory-preallocation",
        "it works once the framework no longer allocates all GPU memory at its start",
        "with TF_FORCE_GPU_ALLOW_GROWTH=true it works",
    ),
    Cure(
        rf"(?:{_LOADER_VARIABLE}[^\n]{{0,40}}{_WSL_LIB}|{_WSL_LIB}[^\n]{{0,20}} to (?:the |my )?{_LOADER_VARIABLE}|NUMBA_CUDA_DRIVER[^\n]{{0,6}}{_WSL_LIB})",
        "wsl-libcuda-not-on-path",
        "it works once the loader finds WSL's own libcuda",
        "with LD_LIBRARY_PATH=/usr/lib/wsl/lib it works",
    ),
    Cure(
        rf"(?:{_LOADER_VARIABLE} ?= ?[\"']?[^\n ]{{0,60}}{_DRIVER_LIBS}|{_DRIVER_LIBS}\S{{0,20}} to (?:the |my )?{_LOADER_VARIABLE})",
        "libcuda-not-on-loader-path",
        "it works once the loader finds the driver's libcuda",
        "with LD_LIBRARY_PATH=/run/opengl-driver/lib it works",
    ),
    Cure(
        r"(?:(?:with|adding|putting|placing|moving|after|if|when|once)\b(?: \w{1,12}){0,3} [`'\"]?import torch\b[^\n]{0,12}\b(?:above|before|first|ahead of|on top)[^\n,;.]{0,40}|import(?:ing)? torch (?:first|before [^\n,;.]{1,40})|torch is imported (?:first|before [^\n,;.]{1,40})|preload_dlls\(\))",
        "pip-nvidia-libs-not-on-path",
        "it works once torch has loaded the CUDA libraries of its own packages",
        "with import torch first it works",
    ),
    Cure(
        rf"{_LOADER_VARIABLE}[^\n]{{0,40}}{_BUNDLED_LIBS}|{_BUNDLED_LIBS}[^\n]{{0,40}}{_LOADER_VARIABLE}",
        "pip-nvidia-libs-not-on-path",
        "it works once the loader finds the CUDA libraries of the framework's own packages",
        "with LD_LIBRARY_PATH=.venv/lib/python3.11/site-packages/nvidia/cudnn/lib it works",
    ),
    Cure(
        r"(?:NVIDIA_DRIVER_CAPABILITIES['\"]?\s?[=:]\s?['\"]?(?:all|[a-z,]{0,30}compute)[a-z,]{0,30}|\bcapabilities=[\"']?[a-z,]{0,30}compute[a-z,]{0,30}|NVIDIA_VISIBLE_DEVICES\s?[=:]\s?['\"]?all)",
        "container-no-gpu-access",
        "the container works once it is given the driver's compute libraries",
        "with NVIDIA_DRIVER_CAPABILITIES=compute,utility it works",
    ),
    Cure(
        rf"(?:NCCL_P2P_DISABLE(?:{_ON})?|NCCL_P2P_LEVEL ?= ?\w{{2,4}}|(?:disabl|turn)\w{{0,3}} (?:off )?(?:the )?(?:ACS|IOMMU|P2P|VT-d)\b|(?:\w{{1,8}}_)?iommu=(?:off|pt|soft)\b|pci=noacs\b)",
        "nccl-p2p-acs-iommu",
        "the GPUs work together once they do not copy directly to one another",
        "with NCCL_P2P_DISABLE=1 it works",
    ),
    Cure(
        rf"(?:{_REMOVE}\b[^\n,;.]{{0,30}}{_LOADER_VARIABLE}|{_LOADER_VARIABLE}[^\n]{{0,120}}\b(?:(?:take|took|taking) (?:it|that|this) (?:out|away|off)|{_REMOVE} (?:it|that|this)\b(?!{_FAILS_WITHOUT}))|{_LOADER_VARIABLE} (?:is |was )?(?:unset|empty|cleared|removed)\b)",
        "ld-library-path-shadowing",
        "it works once LD_LIBRARY_PATH no longer names another CUDA",
        "without LD_LIBRARY_PATH it works",
    ),
    Cure(
        rf"{_ADD}\b(?![^\n]{{0,60}}(?:{_WSL_LIB}|{_BUNDLED_LIBS}|{_DRIVER_LIBS}))(?:[^\n,;.]{{0,40}}| \S{{1,60}} to (?:the |my )?){_LOADER_VARIABLE}(?!,? (?:is |was )?(?:unset|empty|cleared|removed|not)\b)|(?:\u52a0\u5230|\u52a0\u5165|\u6dfb\u52a0\u5230|\u8bbe\u7f6e|\u52a0\u4e0a)\s?{_LOADER_VARIABLE}"
        rf"|(?<=with ){_LOADER_VARIABLE} ?= ?[\"']?(?=[/$])(?![^\n]{{0,80}}(?:{_WSL_LIB}|{_BUNDLED_LIBS}|{_DRIVER_LIBS}))",
        "cuda-libs-not-on-loader-path",
        "it works once LD_LIBRARY_PATH names the folder of the CUDA libraries",
        "once I add LD_LIBRARY_PATH to the service's environment it works",
    ),
    Cure(
        rf"TF_USE_LEGACY_KERAS(?:{_ON})?",
        "keras3-mismatch",
        "the code works with Keras 2",
        "with TF_USE_LEGACY_KERAS=1 it works",
    ),
    Cure(
        rf"{_REMOVE}\b[^\n,;.]{{0,20}}\bCUDA_VISIBLE_DEVICES(?! ?after)",
        "cuda-visible-devices-masked",
        "it works once CUDA_VISIBLE_DEVICES hides no GPU",
        "after unset CUDA_VISIBLE_DEVICES it works",
    ),
)
"""A more particular step stands first."""


def _cure_statement(cure: Cure) -> str:
    step = rf"(?:\w{{1,16}} )?(?:{cure.step})"  # a path has no word boundary before it
    return rf"(?i){cure_pattern(step)}|{contrast_pattern(step)}"


CURE_SIGNATURES = tuple(Signature(_cure_statement(cure), (cure.cause,), cure.meaning, (cure.line,), said=True) for cure in CURES)
"""They name one cause each, so they explain the errors that name it beside others."""
_NEWER_DRIVER = r"(?:updat|upgrad|install)\w{1,4} (?:to )?(?:the |my |a |an )?(?:newer |newest |latest |recent |new )?(?:nvidia |gpu |graphics |cuda ){0,2}drivers?\b(?! and)"
CURE_HINTS = (
    *(Hint(_cure_statement(cure), cure.cause, cure.line, said=True) for cure in CURES),
    Hint(
        rf"(?i){cure_pattern(_NEWER_DRIVER)}|{contrast_pattern(_NEWER_DRIVER)}",
        "driver-too-old",
        "solved by updating the NVIDIA driver",
        said=True,
    ),
)
_ALWAYS_CURED_CAUSES = frozenset(
    ("gpu-memory-preallocation", "ld-library-path-shadowing", "cuda-visible-devices-masked", "nccl-p2p-acs-iommu")
)
"""Causes that their cures always remove: a cure that did not help excludes them."""
CURE_HELPED = {cure.cause: _cure_statement(cure) for cure in CURES if cure.cause in _ALWAYS_CURED_CAUSES}
CURE_DID_NOT_HELP = {cure.cause: rf"(?i){failed_cure_pattern(cure.step)}" for cure in CURES if cure.cause in _ALWAYS_CURED_CAUSES}
"""How people say of each that its cure helped, or did not."""
