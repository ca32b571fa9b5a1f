"""The table of signs. Its words were read in the binaries and the sources of TensorFlow 2.21, PyTorch 2.15, JAX 0.10.2 and libcudart 12.9 unless said otherwise."""

from __future__ import annotations

import re

import msgspec


class Signature(msgspec.Struct, frozen=True):
    """A regular expression, the findings that it is a sign of (the likelier first), and what it means, as the end of a sentence."""

    pattern: str
    causes: tuple[str, ...]
    meaning: str
    lines: tuple[str, ...]
    """What a person would search for: words that the pattern matches, as they are logged."""


_RUNTIME_ONLY = 35
"""cudaErrorInsufficientDriver: cuda.h has no name for it."""


def _status(number: int, name: str, texts: tuple[str, ...], causes: tuple[str, ...], meaning: str) -> Signature:
    """A status of CUDA: the driver's and the runtime's have one number and text, and each its own name; what they name alike is one stem.

    https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """
    words = "".join(part.capitalize() for part in name.split("_"))
    pattern = rf"CUDA_ERROR_{name}\b|\bcudaError{words}\b|\? Error {number}: |{'|'.join(map(re.escape, texts))}"
    known = () if number == _RUNTIME_ONLY else (f"CUDA_ERROR_{name}",)
    return Signature(pattern, causes, meaning, (*texts, *known))


_STATUSES = (
    _status(
        803,
        "SYSTEM_DRIVER_MISMATCH",
        ("system has unsupported display driver / cuda driver combination",),
        ("driver-library-mismatch", "cuda-compat-lib-conflict"),
        "libcuda and the kernel driver are of different releases",
    ),
    _status(
        804,
        "COMPAT_NOT_SUPPORTED_ON_DEVICE",
        ("forward compatibility was attempted on non supported HW",),
        ("forward-compat-unsupported-hw",),
        "a cuda-compat libcuda is loaded, which only data-center GPUs may use",
    ),
    _status(
        802,
        "SYSTEM_NOT_READY",
        ("system not yet initialized",),
        ("fabric-manager-missing", "confidential-computing-not-ready"),
        "the machine's fabric or its confidential computing is not ready",
    ),
    _status(
        34,
        "STUB_LIBRARY",
        ("CUDA driver is a stub library",),
        ("libcuda-is-stub",),
        "a toolkit's stub is loaded in libcuda's place",
    ),
    _status(
        35,
        "INSUFFICIENT_DRIVER",
        ("CUDA driver version is insufficient for CUDA runtime version",),
        ("driver-too-old",),
        "the driver is older than the CUDA of this build",
    ),
    _status(
        222,
        "UNSUPPORTED_PTX_VERSION",
        ("the provided PTX was compiled with an unsupported toolchain",),
        ("driver-too-old",),
        "the driver does not read PTX that new",
    ),
    _status(
        218,
        "INVALID_PTX",
        ("a PTX JIT compilation failed",),
        ("libcuda-not-on-loader-path", "driver-library-mismatch"),
        "the driver's PTX compiler rejected the code, usually because its version differs from libcuda's",
    ),
    _status(
        209,
        "NO_BINARY_FOR_GPU",
        ("no kernel image is available for execution on the device",),
        ("gpu-too-new-for-build", "gpu-too-old-for-build"),
        "the build holds no code for this GPU",
    ),
    _status(
        214,
        "ECC_UNCORRECTABLE",
        ("uncorrectable ECC error encountered",),
        ("ecc-hardware-error",),
        "the GPU's memory had an error that could not be corrected",
    ),
    _status(
        46,
        "DEVICE_UNAVAILABLE",
        ("CUDA-capable device(s) is/are busy or unavailable",),
        ("exclusive-compute-mode", "compute-prohibited"),
        "the GPU takes no further program: it is in exclusive mode and taken, or computing on it is prohibited",
    ),
    _status(
        101,
        "INVALID_DEVICE",
        ("invalid device ordinal",),
        ("cuda-visible-devices-masked",),
        "a GPU was asked for that is not among those that this process sees",
    ),
    Signature(
        r"CUDA_ERROR_MPS_\w+|\bcudaErrorMps\w+|MPS client failed to connect to the MPS|the MPS server and the MPS client failed"
        r"|MPS server is not ready|create MPS (client|device connection) have been exhausted|\? Error 80[5-9]: ",
        ("mps-misconfigured",),
        "the MPS service that CUDA was sent to does not answer as it should",
        (
            "CUDA_ERROR_MPS_CONNECTION_FAILED",
            "cudaErrorMpsConnectionFailed",
            "MPS client failed to connect to the MPS control daemon or the MPS server",
        ),
    ),
)
_FRAMEWORKS = (
    Signature(
        r"Torch not compiled with CUDA enabled",
        ("cpu-only-build",),
        "this build of PyTorch has no CUDA",
        ("Torch not compiled with CUDA enabled",),
    ),
    Signature(
        r"The NVIDIA driver on your system is too old \(found version \d+\)",
        ("driver-too-old",),
        "the driver is older than the CUDA of this build",
        ("The NVIDIA driver on your system is too old (found version 11040)",),
    ),
    Signature(
        r"Found no NVIDIA driver on your system|Could not find cuda drivers on your machine|cuInit: UNKNOWN ERROR \(303\)"
        r"|JAX was unable to load the CUDA libraries",
        ("libcuda-not-on-loader-path", "no-driver"),
        "it found no libcuda.so.1",
        (
            "Found no NVIDIA driver on your system",
            "Could not find cuda drivers on your machine",
            "failed call to cuInit: UNKNOWN ERROR (303)",
            "JAX was unable to load the CUDA libraries",
        ),
    ),
    Signature(
        r"kernel version [\d.]+ does not match DSO version [\d.]+",
        ("driver-library-mismatch",),
        "libcuda and the kernel driver are of different releases",
        ("kernel version 535.183.1 does not match DSO version 550.54.14",),
    ),
    Signature(
        r"Loaded runtime CuDNN library: \S{1,100} but source was compiled with|cuDNN version incompatibility: PyTorch was compiled",
        ("cudnn-version-mismatch", "cudnn-shadowed-by-system"),
        "the cuDNN that was loaded is older than the one of this build",
        (
            "Loaded runtime CuDNN library: 8.9.4 but source was compiled with: 9.1.0",
            "cuDNN version incompatibility: PyTorch was compiled",
        ),
    ),
    Signature(
        # the first is cuDNN 8's: https://github.com/pytorch/pytorch/issues/104591
        r"Could not load library libcudnn|Unable to load any of \{libcudnn|libcudnn\S{0,200}: cannot open shared object file"
        r"|Unable to load cuDNN\. Is it installed",
        ("cudnn-missing", "pip-nvidia-libs-not-on-path"),
        "cuDNN, or a part of it, was not found",
        (
            "Could not load library libcudnn_cnn_infer.so.8",
            "libcudnn.so.9: cannot open shared object file",
            "Unable to load cuDNN. Is it installed?",
        ),
    ),
    Signature(
        r"lib(?:cuda(?:rt)?|cublas\w{0,40}|cufft|curand|cusolver|cusparse\w{0,40}|nvrtc|nvJitLink|cupti|nccl)\.so[\d.]*: cannot open shared object file"
        r"|Could not load dynamic library '(?!libnvinfer)|Cannot dlopen (?:some GPU|all CUDA) libraries",
        ("cuda-library-missing", "pip-nvidia-libs-not-on-path"),
        "a library of CUDA was not found",
        (
            "libcudart.so.12: cannot open shared object file",
            "libcublas.so.12: cannot open shared object file",
            "Cannot dlopen some GPU libraries",
            "Cannot dlopen all CUDA libraries",
        ),
    ),
    Signature(
        r"libdevice not found at|Can't find libdevice directory",
        ("libdevice-not-found",),
        "XLA did not find libdevice",
        (
            "libdevice not found at ./libdevice.10.bc",
            "Can't find libdevice directory",
        ),
    ),
    Signature(
        r"Couldn't get ptxas/nvlink version",
        ("ptxas-not-found", "ptxas-too-old"),
        "XLA could not use ptxas",
        ("Couldn't get ptxas/nvlink version",),
    ),
    Signature(
        r"ptxas too old\.|ptxas does not support CC|Value 'sm_\d+\w?' is not defined for option 'gpu-name'",
        ("ptxas-too-old",),
        "ptxas is older than this GPU",
        (
            "ptxas too old.",
            "ptxas does not support CC",
            "Value 'sm_120' is not defined for option 'gpu-name'",
        ),
    ),
    Signature(
        r"CUDA capability sm_\d+ is not compatible with the current PyTorch installation",
        ("gpu-too-new-for-build", "gpu-too-old-for-build"),
        "the build holds no code for this GPU",
        ("CUDA capability sm_120 is not compatible with the current PyTorch installation",),
    ),
    # read in torch/_inductor of 2.0.0 to 2.15.0
    Signature(
        r"too old to be supported by the triton GPU compiler",
        ("gpu-too-old-for-triton",),
        "torch.compile is for newer GPUs",
        ("which is too old to be supported by the triton GPU compiler",),
    ),
    # read in torch/amp/autocast_mode.py and ptxas 13.0; the last is vLLM's: https://github.com/vllm-project/vllm/issues/1284
    Signature(
        r"CUDA Device does not support bfloat16|Feature '\.bf16\w{0,20}' requires \.target sm_80|[Bb]float16 is only supported on GPUs with compute capability",
        ("gpu-lacks-bf16",),
        "this GPU has no BF16 arithmetic",
        (
            "Current CUDA Device does not support bfloat16",
            "Feature '.bf16' requires .target sm_80 or higher",
            "Bfloat16 is only supported on GPUs with compute capability of at least 8.0",
        ),
    ),
    Signature(
        r"it is not compatible with the installed jaxlib version",
        ("jax-plugin-version-mismatch",),
        "JAX and its CUDA plug-in are of different releases",
        ("it is not compatible with the installed jaxlib version",),
    ),
    Signature(
        r"A module that was compiled using NumPy 1\.x cannot be run in|RuntimeError: Numpy is not available",
        ("numpy2-abi-mismatch",),
        "a module was built for NumPy 1 and meets NumPy 2",
        (
            "A module that was compiled using NumPy 1.x cannot be run in NumPy 2",
            "RuntimeError: Numpy is not available",
        ),
    ),
    Signature(
        r"Detected incompatible Protobuf Gencode/Runtime|Descriptors cannot be created directly",
        ("protobuf-mismatch",),
        "protobuf does not fit what was generated for it",
        (
            "Detected incompatible Protobuf Gencode/Runtime",
            "Descriptors cannot be created directly",
        ),
    ),
    # https://github.com/NVIDIA/nccl/issues/342 has the first
    Signature(
        r"Error while (?:creating|attaching to) shared memory segment|insufficient shared memory \(shm\)",
        ("container-shm-too-small",),
        "the shared memory that is offered here is too small",
        (
            "Error while creating shared memory segment",
            "insufficient shared memory (shm)",
        ),
    ),
    Signature(
        r"undefined symbol: nccl\w+",
        ("nccl-version-conflict",),
        "the NCCL that was loaded is older than the one of this build",
        ("undefined symbol: ncclCommRegister",),
    ),
    # the next three were read in libnccl 2.32.3 and in NCCL's sources of 2.30.7
    Signature(
        r"Mismatched NCCL (?:git )?versions? detected",
        ("nccl-version-conflict",),
        "the processes of one job loaded different releases of NCCL",
        ("Mismatched NCCL version detected",),
    ),
    Signature(
        r"failed to peer with device \d+|cudaIpcGetMemHandle failed",
        ("nccl-p2p-acs-iommu",),
        "a GPU was refused direct access to another's memory",
        (
            "failed to peer with device 1",
            "cudaIpcGetMemHandle failed",
        ),
    ),
    Signature(
        r"Bootstrap : no socket interface found",
        ("all-reduce-failed",),
        "NCCL found no network interface to begin by, mostly since NCCL_SOCKET_IFNAME excludes them all",
        ("Bootstrap : no socket interface found",),
    ),
)
_MEMORY = (
    # before the next one, whose words TensorFlow uses of the CPU's allocator too
    Signature(
        r"OOM when allocating tensor[^\n]{0,1000}device:CPU:|DefaultCPUAllocator: can't allocate memory|(?<!OutOf)MemoryError\b|std::bad_alloc",
        ("host-memory-insufficient",),
        "the machine's memory, or this program's share of it, was not enough",
        (
            "MemoryError",
            "std::bad_alloc",
            "DefaultCPUAllocator: can't allocate memory",
        ),
    ),
    Signature(
        r"CUDA out of memory\. Tried to allocate|CUDA_ERROR_OUT_OF_MEMORY|\? Error 2: out of memory|cudaErrorMemoryAllocation"
        r"|RESOURCE_EXHAUSTED: .{0,1000}(?:[Oo]ut of memory|OOM|failed to allocate)|OOM when allocating tensor"
        r"|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED",
        ("gpu-memory-insufficient", "gpu-memory-held-by-other-process"),
        "the GPU's memory was not enough",
        (
            "CUDA out of memory. Tried to allocate",
            "CUDA_ERROR_OUT_OF_MEMORY",
            "CUBLAS_STATUS_ALLOC_FAILED",
            "OOM when allocating tensor",
        ),
    ),
)
_VAGUE = (
    _status(
        100,
        "NO_DEVICE",
        (
            "no CUDA-capable device is detected",
            "No CUDA GPUs are available",
        ),
        ("cuda-init-fails", "cuda-visible-devices-masked", "device-permission-denied"),
        "CUDA sees no GPU: they are hidden, or their device files cannot be opened",
    ),
    # cuDNN and cuBLAS cannot start where a context has no memory left, or a foreign library was loaded in their place
    Signature(
        r"CUDNN_STATUS_NOT_INITIALIZED|Could not create cudnn handle|DNN library initialization failed",
        ("cudnn-version-mismatch", "gpu-memory-insufficient"),
        "cuDNN could not start",
        (
            "CUDNN_STATUS_NOT_INITIALIZED",
            "Could not create cudnn handle",
            "DNN library initialization failed",
        ),
    ),
    Signature(
        r"CUBLAS_STATUS_NOT_INITIALIZED|failed to create cublas handle",
        ("cuda-mixed-versions", "gpu-memory-insufficient"),
        "cuBLAS could not start",
        (
            "CUBLAS_STATUS_NOT_INITIALIZED",
            "failed to create cublas handle",
        ),
    ),
    Signature(
        r"CUDA_ERROR_UNKNOWN\b|\bcudaErrorUnknown\b|CUDA unknown error|\? Error 999: ",
        ("cuda-init-fails", "uvm-broken-after-suspend"),
        "CUDA gave its unknown error, mostly from a kernel driver in a bad state",
        (
            "CUDA_ERROR_UNKNOWN",
            "CUDA unknown error",
        ),
    ),
    Signature(
        r"(?:failed call to cuInit|operation cuInit\(0\) failed|Unexpected error from cudaGetDeviceCount|CUDA driver initialization failed, you)",
        ("cuda-init-fails",),
        "CUDA could not be initialised",
        (
            "failed call to cuInit",
            "operation cuInit(0) failed",
            "Unexpected error from cudaGetDeviceCount",
        ),
    ),
)

SIGNATURES: tuple[Signature, ...] = (*_STATUSES, *_FRAMEWORKS, *_MEMORY, *_VAGUE)
"""Exact ones before those that only say what did not work."""
