"""What people write of a driver that is missing, too old or not loaded."""

from __future__ import annotations

from gpudoctor.signatures.phrases import DRIVER_WORDS, absence_pattern, outdated_pattern
from gpudoctor.signatures.signature import Signature

_OWN_DRIVER = rf"(?:{DRIVER_WORDS}|(?:my|our|the|this|that|your|its) (?:installed |current |host |kernel ){{0,2}}drivers?|driver \d{{3}}(?:\.\d{{1,3}}){{0,2}}|(?:my|our|the|your) nvidia(?= versions?\b))"
_ABSENT_DRIVER = rf"(?i){absence_pattern(DRIVER_WORDS)}"
_UNUSED_DRIVER = (
    rf"(?i)\bdriver (?:is|was) not in use\b|\b{DRIVER_WORDS} not (?:get(?:ting)? )?load(?:ed|ing|s)?\b"
    rf"|(?:\bno longer|\b(?:can|could)(?:not|n'?t)|\bunable to) get (?:the |my |our )?{DRIVER_WORDS} (?:to (?:work|load|run|start)|working|loaded|running)\b"
)

REFUSED_CALL = r"\bcudaErrorNotSupported\b|\bCUDA_ERROR_NOT_SUPPORTED\b|\bCUDA (?:driver |runtime )?error: operation not supported(?! on)\b"
"""What CUDA answers to a call that this driver, GPU or system does not have: 801."""

DRIVERS = (
    # CUDA 12.1 passes larger parameters than drivers before 530 take: https://github.com/pytorch/pytorch/issues/135126
    Signature(
        REFUSED_CALL,
        ("driver-too-old",),
        "CUDA refuses a call that this driver may be too old for",
        ("RuntimeError: CUDA error: operation not supported",),
        vague=True,
        needs_support=True,
        despite_versions=True,  # the driver runs that CUDA release, without what it brought
    ),
    # Triton's own ptxas is of a newer CUDA than the driver: https://github.com/triton-lang/triton/issues/3001 and 2971
    Signature(
        r"Triton Error \[CUDA\]: device kernel image is invalid",
        ("driver-too-old",),
        "the driver cannot load what Triton compiled, usually because it is older than Triton's compiler",
        ("RuntimeError: Triton Error [CUDA]: device kernel image is invalid",),
        guess=True,
        despite_versions=True,
    ),
    # tensorflow/stream_executor/cuda/cuda_dnn.cc of 0.5 to 2.21, whenever cuDNN does not start: only versions tell
    Signature(
        r"possibly insufficient driver version",
        ("driver-too-old",),
        "cuDNN failed to initialise, and the driver may be too old for it",
        ("possibly insufficient driver version: 384.69.0",),
        needs_support=True,
    ),
    Signature(
        rf"(?i){outdated_pattern(_OWN_DRIVER)}"
        r"|\b(?:my|our|the installed|the current) (?:nvidia )?(?:gpu |graphics )?driver(?: version)?(?: [\d.]{3,12})? (?:is not|isn't|was not|wasn't) (?:supported (?:by|for)|compatible with|(?:new|recent) enough for) (?:the |this |that )?(?:cuda\b|(?:py)?torch|tensorflow|jax\b)"
        r"|\b(?:cuda|tensorflow|(?:py)?torch|jax|this (?:version|release|build))\b[^\n.;,]{0,16} (?:needs?|requires?|wants?) (?:a )?(?:newer|new|more recent) (?:\w{1,12} )?drivers?\b",
        ("driver-too-old",),
        "the driver is too old for this build's CUDA version",
        (
            "My NVIDIA driver is not supported by the PyTorch version that I need",
            "the graphics driver on the nodes was outdated",
            "we have driver 550.54.15 and that is too old for CUDA 12.6",
        ),
        vague=True,
        said=True,
    ),
    Signature(
        _ABSENT_DRIVER,
        ("container-no-gpu-access", "scheduler-gpu-not-allocated"),
        "there is no NVIDIA driver where the program runs",
        ("there is no nvidia driver in the container",),
        vague=True,
        last=True,
        said=True,
        needs_support=True,
    ),
    Signature(
        _ABSENT_DRIVER,
        ("no-driver", "kernel-module-not-built", "secure-boot-unsigned-module", "nouveau-loaded"),
        "there is no loaded NVIDIA driver",
        ("it says that no graphic driver was found", "I don't have a cuda driver", "ERROR: NVIDIA driver is not loaded"),
        vague=True,
        last=True,
        said=True,
        tells="nvidia-smi; lsmod | grep nvidia",
    ),
    Signature(
        _UNUSED_DRIVER,
        ("no-driver", "kernel-module-not-built", "secure-boot-unsigned-module", "nouveau-loaded"),
        "the NVIDIA driver is installed and not loaded",
        ("nvidia-settings says that the driver is not in use", "I can no longer get the nvidia driver to work"),
        vague=True,
        last=True,
        said=True,
        tells="nvidia-smi; lsmod | grep nvidia",
    ),
)
