"""What the CUDA driver and runtime say: their statuses, by number, name and text."""

from __future__ import annotations

import re

from gpudoctor.signatures.signature import Signature

_RUNTIME_ONLY = (35, 36)
"""Statuses for which cuda.h has no name."""
_LEAST_STATED_NUMBER = 99
"""Above it a status' number is not taken for another count where somebody writes "CUDA error 802"."""
STATUS_PREFIX = r"(?:(?:cuda driver library|nvcuda|cudart) init failure:|cuInit err:|cudaSetDevice err:|failed to get device context|Call to cuInit results in)"
"""How Ollama and Numba name a status: https://github.com/ollama/ollama/issues/5453."""
_FAILED_CALL = r"\bcuda[A-Z]\w{3,40}(?:\(\))? (?:returned|failed\b[^\n]{0,80}\berror code ?[:=])"
"""How CUDA's deviceQuery and PaddlePaddle name the call that gave it."""


def status_signature(
    number: int,
    name: str,
    texts: tuple[str, ...],
    causes: tuple[str, ...],
    meaning: str,
    *,
    also: str = "",
    tells: str = "",
    despite_versions: bool = False,
) -> Signature:
    """Return the signature of a CUDA status: driver and runtime share its number and text but name it differently; matching names share one stem. `also` is one more pattern.

    https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """
    words = "".join(part.capitalize() for part in name.split("_"))
    wrapped = rf"[?.] Error {number}: |\bcuda runtime error \({number}\)|(?<!_STATUS_SUCCESS )\({number} vs\. 0\)|\bcudaSuccess\. {number} vs 0\b|\(0 vs\. {number}\)|UNKNOWN ERROR \({number}\)|CUDA initialization failure with error: {number}(?!\d)|\(error {number}\)|CUDA (?:failure|error) {number}: |C(?:UDA|uda) error\({number}\), |Cuda failure {number} '|CUDA Runtime API Error {number}\b|\berror={number} : |\[{number}\] Call to cu\w{{3,40}} results in|{STATUS_PREFIX} {number}(?!\d)|{_FAILED_CALL} {number}(?!\d)|\bcuInit(?:\(0\))?(?: ?(?:[:=]|->|=>)| returns?| returned| gives?| gave)[ :]{{1,3}}{number}(?!\d)"
    if number > _LEAST_STATED_NUMBER:
        wrapped += rf"|(?i:\bcu(?:da|init)\w{{0,20}}\b[^\n.;]{{0,40}}(?:\b(?:error|status|code|return(?:s|ed))(?: (?:code|error|status))?[ :=]{{1,2}}{number}\b(?![.%]\d| ?%)|\bfail(?:s|ed)? with (?:an? )?{number} (?:\w{{1,8}} )?error\b))"
    pattern = rf"CUDA_ERROR_{name}\b|\bcudaError{words}\b|{wrapped}|{'|'.join(f'(?i:{re.escape(text[0])}){re.escape(text[1:])}' for text in texts)}"
    known = () if number in _RUNTIME_ONLY else (f"CUDA_ERROR_{name}",)
    pattern += f"|{also}" if also else ""
    return Signature(
        pattern, causes, meaning, (f"Error {number}: {texts[0]}", *texts[1:], *known), despite_versions=despite_versions, tells=tells
    )


STATUSES = (
    status_signature(
        803,
        "SYSTEM_DRIVER_MISMATCH",
        ("system has unsupported display driver / cuda driver combination",),
        ("driver-library-mismatch", "cuda-compat-lib-conflict"),
        "libcuda and the kernel driver have different versions",
        tells="cat /proc/driver/nvidia/version; ldconfig -p | grep libcuda.so; echo $LD_LIBRARY_PATH",
    ),
    status_signature(
        804,
        "COMPAT_NOT_SUPPORTED_ON_DEVICE",
        ("forward compatibility was attempted on non supported HW",),
        ("forward-compat-unsupported-hw",),
        "a cuda-compat libcuda is loaded, which works only on data-centre GPUs",
    ),
    status_signature(
        802,
        "SYSTEM_NOT_READY",
        ("system not yet initialized",),
        ("fabric-manager-missing", "confidential-computing-not-ready", "fabric-prerequisites-missing"),
        "NVLink fabric or confidential computing is not ready",
        tells="systemctl is-active nvidia-fabricmanager; nvidia-smi conf-compute -f",
    ),
    status_signature(
        34,
        "STUB_LIBRARY",
        ("CUDA driver is a stub library",),
        ("libcuda-is-stub",),
        "the CUDA toolkit's stub is loaded instead of libcuda",
        also=r"libnvidia-ml\.so in GDK package is a stub library",
    ),
    status_signature(
        35,
        "INSUFFICIENT_DRIVER",
        ("CUDA driver version is insufficient for CUDA runtime version",),
        ("driver-too-old",),
        "the driver is too old for this build's CUDA version",
    ),
    status_signature(
        36,
        "CALL_REQUIRES_NEWER_DRIVER",
        ("API call is not supported in the installed CUDA driver",),
        ("driver-too-old",),
        "the driver is too old for this build's CUDA version",
    ),
    status_signature(
        102,
        "DEVICE_NOT_LICENSED",
        ("device doesn't have valid Grid license",),
        ("vgpu-unlicensed",),
        "the vGPU has no licence",
    ),
    status_signature(
        222,
        "UNSUPPORTED_PTX_VERSION",
        ("the provided PTX was compiled with an unsupported toolchain",),
        ("driver-too-old",),
        "the driver is too old for this PTX version",
        despite_versions=True,  # the driver may run that CUDA release's machine code and not compile its PTX
    ),
    # TensorFlow's PTX for older GPUs on Blackwell: https://github.com/tensorflow/tensorflow/issues/99592
    Signature(
        r"cuModuleLoadData\w{0,2}\([^\n]{0,40}failed with 'CUDA_ERROR_INVALID_PTX'",
        ("gpu-too-new-for-build", "libcuda-not-on-loader-path"),
        "a kernel of this build cannot run on this GPU",
        ("'cuModuleLoadData(&module, data)' failed with 'CUDA_ERROR_INVALID_PTX'",),
    ),
    status_signature(
        218,
        "INVALID_PTX",
        ("a PTX JIT compilation failed",),
        ("libcuda-not-on-loader-path", "driver-library-mismatch", "gpu-too-new-for-build"),
        "the driver's PTX compiler rejected the code, usually because its version differs from libcuda's",
        tells="cat /proc/driver/nvidia/version; ldconfig -p | grep -E 'libcuda|ptxjitcompiler'",
    ),
    # the driver's libnvidia-ptxjitcompiler.so.1, which a container may lack
    status_signature(
        221,
        "JIT_COMPILER_NOT_FOUND",
        ("PTX JIT compiler library not found",),
        ("container-no-gpu-access", "libcuda-not-on-loader-path"),
        "the driver's PTX compiler, libnvidia-ptxjitcompiler.so.1, was not found",
        tells="ldconfig -p | grep ptxjitcompiler; ls -d /.dockerenv",
    ),
    status_signature(
        209,
        "NO_BINARY_FOR_GPU",
        ("no kernel image is available for execution on the device", "no kernel image is available"),
        ("gpu-too-new-for-build", "gpu-too-old-for-build", "extension-missing-arch"),
        "this build has no kernels for this GPU",
        also=r"(?i:\bno kernel image (?:available|found|for)\b)|\bcudaErrorNoKernelImageForDevice\b|(?i:\b(?:torch|build|wheels?|image)\b[^\n.]{0,40}\b(?:has|have|had|ships?|contains?) no sm_?(?:8|9|1\d)\d\b)"
        # cudaErrorInvalidDeviceFunction, as c10 prints it: https://github.com/pytorch/pytorch/issues/13207
        r"|\bCUDA error: invalid device function\b",
    ),
    status_signature(
        214,
        "ECC_UNCORRECTABLE",
        ("uncorrectable ECC error encountered",),
        ("ecc-hardware-error",),
        "the GPU's memory had an uncorrectable error",
    ),
    status_signature(
        220,
        "NVLINK_UNCORRECTABLE",
        ("uncorrectable NVLink error detected during the execution",),
        ("nvlink-errors", "nvswitch-fatal-error"),
        "an NVLink failed while the program ran",
    ),
    status_signature(
        226,
        "CONTAINED",
        ("Invalid access of peer GPU memory over nvlink or a hardware error",),
        ("nvlink-errors", "ecc-hardware-error"),
        "access to another GPU's memory failed, or the GPU's own memory did",
    ),
    status_signature(
        46,
        "DEVICE_UNAVAILABLE",
        ("CUDA-capable device(s) is/are busy or unavailable", "all CUDA-capable devices are busy or unavailable"),
        ("exclusive-compute-mode", "compute-prohibited", "vgpu-unlicensed", "cuda-init-fails"),
        "the GPU accepts no more processes, usually because of its compute mode",
        also=r"(?i:\b(?:cuda|gpu)[- ]?(?:capable )?(?:device|gpu)?s?(?: is| are)? busy or (?:is |are )?(?:unavailable|not available)\b)",
        tells="nvidia-smi --query-gpu=index,compute_mode --format=csv; nvidia-smi --query-compute-apps=pid,name --format=csv",
    ),
    status_signature(
        216,
        "CONTEXT_ALREADY_IN_USE",
        ("exclusive-thread device already in use by a different thread",),
        ("exclusive-compute-mode",),
        "the GPU is in an exclusive mode and in use",
        also=r"could not create context: context in use",
    ),
    status_signature(
        101,
        "INVALID_DEVICE",
        ("invalid device ordinal",),
        ("cuda-visible-devices-masked", "mig-one-instance-per-process"),
        "the requested GPU is not visible to this process",
        also=r"Invalid CUDA device index|\bthere (?:are|is) (?:only )?\d{1,3} visible CUDA devices?\b",
    ),
    # https://github.com/jhj0517/Whisper-WebUI/issues/279
    Signature(
        r"[?.] Error 500: named symbol not found|CUDA error: named symbol not found|cudaErrorSymbolNotFound|(?<=\S )(?<!from module: )CUDA_ERROR_NOT_FOUND: named symbol not found",
        ("wsl-driver-stack-broken", "driver-library-mismatch"),
        "libcuda and the driver's other files in WSL or Docker Desktop are of different releases",
        ("Unexpected error from cudaGetDeviceCount(). Error 500: named symbol not found",),
    ),
    Signature(
        r"CUDA_ERROR_MPS_\w+|\bcudaErrorMps\w+|MPS client failed to connect to the MPS|the MPS server and the MPS client failed"
        r"|MPS server is not ready|create MPS (client|device connection) have been exhausted|\? Error 80[5-9]: "
        # the log of nvidia-cuda-mps-control
        r"|\] Server (?:encountered a fatal exception|\d{1,7} exited with status [1-9])|\bServer\s{1,6}\d{1,7}\] Failed to start",
        ("mps-misconfigured",),
        "CUDA cannot use the MPS service",
        (
            "CUDA_ERROR_MPS_CONNECTION_FAILED",
            "cudaErrorMpsConnectionFailed",
            "MPS client failed to connect to the MPS control daemon or the MPS server",
        ),
    ),
)
