"""Why a library of CUDA or cuDNN is missing, and what people write of one that is not there or does not load."""

from __future__ import annotations

from gpudoctor.signatures.phrases import unloaded_pattern
from gpudoctor.signatures.signature import Signature

MISSING_CUDA_CAUSES = (
    "cuda-library-missing",
    "pip-nvidia-libs-not-on-path",
    "cupy-wheel-cuda-mismatch",
    "cuda-version-mismatch",
    "cuda-libs-not-on-loader-path",
    "extension-built-for-other-cuda",
)
MISSING_CUDNN_CAUSES = (
    "cudnn-missing",
    "pip-nvidia-libs-not-on-path",
    "cudnn-wrong-major",
    "cuda-libs-not-on-loader-path",
    "cudnn-shadowed-by-system",
)
_QUOTE = r"[\"'`]?"
_CUDA_FILE = rf"(?:lib(?=cu|nv|nccl|npp)(?!cudnn|cuda\.|nvidia|nvinfer|nccl-)[\w-]{{3,40}}\.so[\d.]*|cu(?!dnn)[a-z]{{3,10}}64_\d{{1,3}}(?:_\d)?\.dll){_QUOTE}"
_CUDNN_FILE = rf"(?:libcudnn[a-z_]{{0,20}}\.so[0-9.]*|cudnn64_\d\.dll){_QUOTE}"

MISSING_LIBRARIES = (
    Signature(
        rf"(?i){unloaded_pattern(_CUDA_FILE)}",
        MISSING_CUDA_CAUSES,
        "a CUDA library was not found",
        ("libcufft.so.10 and libcublas.so.11 dont load", "it cannot find libcublas.so.11", "cusolver64_10.dll is missing"),
        vague=True,
        said=True,
    ),
    Signature(
        rf"(?i){unloaded_pattern(_CUDNN_FILE)}",
        MISSING_CUDNN_CAUSES,
        "cuDNN or one of its libraries was not found",
        ("libcudnn.so.8 is not there", "cudnn64_7.dll was not found"),
        vague=True,
        said=True,
    ),
    Signature(
        rf"(?i){unloaded_pattern(rf'libcuda[.]so(?:[.]1)?{_QUOTE}')}",
        ("libcuda-not-on-loader-path", "wsl-libcuda-not-on-path", "libcuda-not-installed", "no-driver", "container-no-gpu-access"),
        "the driver's library libcuda.so.1 was not found",
        ("it fails because libcuda.so.1 does not exist",),
        vague=True,
        said=True,
    ),
    Signature(
        rf"(?i){_CUDA_FILE}[^\n]{{0,40}}(?:instead of|rather than|and not|, not|而不是)\s{{0,3}}{_CUDA_FILE}",
        ("cuda-version-mismatch", "cuda-library-missing", "cuda-mixed-versions"),
        "a program asks for a library of another CUDA release than the installed one",
        ("why does it look for libcublasLt.so.11 instead of libcublasLt.so.12",),
        vague=True,
    ),
    Signature(
        r"(?i)\b(?:picks? up|loads?|uses?|takes?|prefers?|finds?)\b[^\n.]{0,24}\b(?:cuda|cudnn|libraries|cublas\w{0,3}|nccl)\b[^\n.]{0,24}\b(?:of|from|in|on) (?:the |my )?(?:LD_LIBRARY_PATH|/usr/\S{1,40}|system)\b[^\n]{0,16}\b(?:instead of|rather than|and not|not)\b",
        ("ld-library-path-shadowing",),
        "CUDA's libraries of the system are found before those of the framework's own packages",
        ("jax picks up the CUDA libraries of LD_LIBRARY_PATH instead of those that pip installed",),
        vague=True,
        said=True,
    ),
    Signature(
        r"(?i)\bwith (?:an? )?(?:empty LD_LIBRARY_PATH|LD_LIBRARY_PATH (?:unset|empty|cleared))\b[^\n]{0,40}\b(?:work|fix|solv|fine|help)|\b(?:unset|remov|clear|delet|without)\w*\b[^\n]{0,30}\b(?:LD_LIBRARY_PATH|environment variable)\b[^\n]{0,60}\b(?:work|fix|solv|normal|help)",
        ("ld-library-path-shadowing", "cuda-visible-devices-masked"),
        "a variable makes the program fail, which works without it",
        ("after removing LD_LIBRARY_PATH everything works again",),
        needs_support=True,
    ),
)
