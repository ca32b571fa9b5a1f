"""The table of signatures. Unless noted, the patterns were read in the binaries and sources of TensorFlow 2.21, PyTorch 2.15, JAX 0.10.2 and libcudart 12.9."""

from __future__ import annotations

import msgspec

from gpudoctor.signatures.building import BUILDING
from gpudoctor.signatures.builds import BUILDS
from gpudoctor.signatures.collectives import COLLECTIVES, STALLED
from gpudoctor.signatures.containers import CONTAINERS
from gpudoctor.signatures.driver_log import DRIVER_LOG
from gpudoctor.signatures.drivers import DRIVERS
from gpudoctor.signatures.imports import IMPORTS, UNNAMED
from gpudoctor.signatures.installers import INSTALLERS
from gpudoctor.signatures.libraries import LIBRARIES
from gpudoctor.signatures.management import MANAGEMENT
from gpudoctor.signatures.memory import MEMORY, STARVED
from gpudoctor.signatures.modules import MODULES
from gpudoctor.signatures.no_gpu import SAID_TO_SEE_NO_GPU
from gpudoctor.signatures.packages import PACKAGES
from gpudoctor.signatures.pasted import PASTED
from gpudoctor.signatures.settings import SETTINGS
from gpudoctor.signatures.signature import Signature
from gpudoctor.signatures.slowness import SLOWNESS
from gpudoctor.signatures.statuses import STATUSES, status
from gpudoctor.signatures.windows import WINDOWS

_FRAMEWORKS = (
    Signature(
        r"The NVIDIA driver on your system is too old ?\(found version \d+\)",
        ("driver-too-old",),
        "the driver is too old for this build's CUDA version",
        ("The NVIDIA driver on your system is too old (found version 11040)",),
    ),
    Signature(
        r"Found no NVIDIA driver on your system",
        (
            "no-driver",
            "container-no-gpu-access",
            "wsl-driver-stack-broken",
            "wsl-libcuda-not-on-path",
            "libcuda-not-on-loader-path",
            "no-gpu",
        ),
        "the framework found no NVIDIA driver",
        ("Found no NVIDIA driver on your system",),
        tells="nvidia-smi; ls -d /dev/nvidia0 /dev/dxg /.dockerenv; ldconfig -p | grep libcuda.so.1",
    ),
    # discover/gpu.go, gpu_info_cudart.c and scripts/install.sh of Ollama; server/routes.go until 0.1.20
    Signature(
        r"no compatible GPUs were discovered|gpu support may not be enabled, check that you have installed GPU drivers|No NVIDIA(?:/AMD)? GPU detected\. Ollama will run",
        ("no-driver", "container-no-gpu-access", "wsl-driver-stack-broken", "wsl-libcuda-not-on-path", "no-gpu"),
        "Ollama found no GPU",
        ("no compatible GPUs were discovered", "WARNING: No NVIDIA/AMD GPU detected. Ollama will run in CPU-only mode."),
        last=True,
        vague=True,
        tells="nvidia-smi; ls -d /dev/nvidia0 /dev/dxg /.dockerenv",
    ),
    Signature(
        r"your nvidia driver is too old or missing|msg=\"NVIDIA driver too old\"",
        ("driver-too-old", "no-driver"),
        "the driver is too old for Ollama's CUDA version, or missing",
        ("your nvidia driver is too old or missing.  If you have a CUDA GPU please upgrade to run ollama",),
    ),
    # xla/tsl/cuda/cudart_stub.cc: libcudart cannot be loaded, whether there is a driver or not
    Signature(
        r"Could not find cuda drivers on your machine",
        (
            "no-driver",
            "cuda-library-missing",
            "pip-nvidia-libs-not-on-path",
            "cuda-version-mismatch",
            "cuda-libs-not-on-loader-path",
            "container-no-gpu-access",
            "wsl-driver-stack-broken",
            "no-gpu",
        ),
        "TensorFlow cannot load libcudart: CUDA or the driver is missing",
        ("Could not find cuda drivers on your machine, GPU will not be used.",),
        last=True,  # it says so beside every other error of CUDA
        vague=True,
        tells="nvidia-smi; ldconfig -p | grep libcudart",
    ),
    # xla/stream_executor/cuda/cuda_diagnostics.cc
    Signature(
        r"kernel driver does not appear to be running on this host|no NVIDIA GPU device is present: /dev/nvidia0 does not exist",
        ("no-driver", "container-no-gpu-access", "device-nodes-missing", "no-gpu"),
        "the NVIDIA kernel driver or its device files are not there",
        (
            "kernel driver does not appear to be running on this host (3f1c9a7be210): /proc/driver/nvidia/version does not exist",
            "no NVIDIA GPU device is present: /dev/nvidia0 does not exist",
        ),
        tells="nvidia-smi; ls -d /dev/nvidia0 /.dockerenv; lspci -d 10de:",
    ),
    # what the stub in TensorFlow's images answers: https://github.com/tensorflow/tensorflow/issues/41785
    Signature(
        r"cuInit: (?:UNKNOWN ERROR|CUresult) ?\(-1\)",
        ("container-no-gpu-access", "libcuda-is-stub"),
        "a container's stub of libcuda was loaded instead of the driver's",
        ("failed call to cuInit: UNKNOWN ERROR (-1)",),
    ),
    # the driver's packages provide libcuda.so; below WSL only its own folder does: https://github.com/NVIDIA/cuda-python/issues/17
    Signature(
        r"[Ff]ailed to dlopen libcuda\.so(?!\.)",
        ("wsl-libcuda-not-on-path", "libcuda-not-on-loader-path", "no-driver", "container-no-gpu-access"),
        "libcuda.so was not found",
        ("RuntimeError: Failed to dlopen libcuda.so",),
    ),
    # the last three are TensorFlow 0.12's and cudarc's
    Signature(
        r"cuInit: UNKNOWN ERROR \(303\)"
        r"|JAX was unable to load the CUDA libraries|[Ff]ailed to dlopen libcuda\.so|libcuda\.so[\d.]*(?:: cannot open shared object file| => not found| (?:was |is |could )?not (?:be )?found)"
        r"|Could not (?:load dynamic|dlopen) library 'libcuda\.so"
        r"|was unable to find libcuda\.so DSO loaded into this program|Couldn't open CUDA library libcuda|Unable to find cuda lib under the names|Unable to dynamically load the \"(?:cuda|nvcuda)\"|CUDA driver library cannot be found|Function \"cu(?:Init|DriverGetVersion|DeviceGetCount)\" not found",
        ("libcuda-not-on-loader-path", "container-ldcache-stale", "container-no-gpu-access", "no-driver", "wsl-libcuda-not-on-path"),
        "libcuda.so.1 was not found",
        (
            "failed call to cuInit: UNKNOWN ERROR (303)",
            "JAX was unable to load the CUDA libraries",
            "CudaSupportError: Error at driver init: CUDA driver library cannot be found.",
            'RuntimeError: Function "cuInit" not found',
        ),
        tells="ldconfig -p | grep libcuda.so.1; ls /usr/lib/wsl/lib/libcuda.so.1; nvidia-smi",
    ),
    # https://github.com/ollama/ollama/issues/6626
    Signature(
        r"libcuda\.so\S{0,40}: undefined symbol: cu\w{3,60}"
        # tensorflow/stream_executor/cuda/cuda_driver.cc of 1.0
        r"|Check failed: s\.ok\(\) could not find cu[A-Z]\w{3,60}",
        ("driver-too-old",),
        "the driver's libcuda lacks a function that this build needs",
        (
            "/usr/lib64/libcuda.so.460.106.00: undefined symbol: cuCtxCreate_v3",
            "Check failed: s.ok() could not find cuDevicePrimaryCtxRetain in libcuda DSO",
        ),
    ),
    # what an extension asks of libcuda: https://docs.nvidia.com/cuda/cuda-driver-api/
    Signature(
        r"undefined symbol: cu(?:Ctx|Device|Driver|Event|Func|Get|Graph|Green|Init|Kernel|Launch|Library|Link|Mem|Module|Multicast|Occupancy|Pointer|Stream|TensorMap)\w{0,40}",
        ("driver-too-old", "libcuda-not-on-loader-path"),
        "the driver's libcuda lacks a function that this build needs, or is not loaded",
        ("sgl_kernel/spatial_ops.abi3.so: undefined symbol: cuGreenCtxDestroy",),
    ),
    Signature(
        r"libcuda\.so\.1: wrong ELF class",
        ("libcuda-wrong-architecture",),
        "the loader finds a libcuda for another architecture",
        ("ImportError: libcuda.so.1: wrong ELF class: ELFCLASS32",),
    ),
    Signature(
        r"kernel version [\d.]+ does not match DSO version [\d.]+",
        ("driver-library-mismatch",),
        "libcuda and the kernel driver have different versions",
        ("kernel version 535.183.1 does not match DSO version 550.54.14",),
    ),
)
_OF_CUDA = r"(?:\bCUDA|\bcuInit|\bcuda error|\bcuda runtime error \(30?\))[^\n]{0,60}"
"""What stands before a status' text where its number and name are left out."""
_VAGUE = (
    Signature(
        r"(?i:\bonly (?:shows?|sees?|lists?|detects?|finds?) \d{1,2} (?:out )?of (?:the |my |our )?\d{1,2} gpus|\b(?:shows?|sees?|lists?|detects?|finds?) only \d{1,2} (?:out )?of (?:the |my |our )?\d{1,2} gpus)"
        r"|gres/gpu count reported lower than configured|RmInitAdapter failed!|rm_init_adapter failed",
        ("gpu-count-mismatch", "pci-bar-not-assigned"),
        "the driver or scheduler sees fewer GPUs than are installed",
        ("gres/gpu count reported lower than configured (7 < 8)", "RmInitAdapter failed! (0x24:0x72:1568)", "rm_init_adapter failed"),
    ),
    Signature(
        r"(?i)\bnvidia-smi\b[^\n]{0,30}\bonly\b[^\n]{0,20}\b(?:\d|one|two|three|four|five|six|seven) (?:gpus?|cards?)\b",
        ("gpu-count-mismatch",),
        "nvidia-smi lists fewer GPUs than are installed",
        ("nvidia-smi only lists 7 GPUs",),
    ),
    Signature(
        r"NVRM: Xid \([^)\n]{1,100}\): (?!(?:13|31|43|45)\b)\d+",
        ("gpu-errors-logged",),
        "the driver logged an Xid error",
        ("NVRM: Xid (PCI:0000:07:00): 109, pid=4242, name=python3, Ch 00000008, errorString CTX SWITCH TIMEOUT",),
    ),
    status(
        100,
        "NO_DEVICE",
        (
            "no CUDA-capable device is detected",
            "No CUDA GPUs are available",
            "no nvidia devices detected by library",  # discover/gpu.go of Ollama
        ),
        (
            "cuda-init-fails",
            "cuda-visible-devices-masked",
            "no-driver",
            "device-permission-denied",
            "container-no-gpu-access",
            "scheduler-gpu-not-allocated",
            "mig-no-instances",
            "device-nodes-missing",
            "no-gpu",
            "wsl-linux-driver-installed",
        ),
        "CUDA sees no GPU: all are hidden, or their device files cannot be opened",
        also=r"no nvidia devices detected\W{1,3}library=|(?i:\bno (?:CUDA|NVIDIA) devices (?:(?:could be|were|are|was) )?(?:found|detected)\b)",  # the last is llama.cpp's
        tells='echo "[$CUDA_VISIBLE_DEVICES]"; ls -l /dev/nvidia*; nvidia-smi -L',
    ),
    # cuDNN and cuBLAS cannot start in a context without memory, or if another library was loaded instead
    Signature(
        r"CUDNN_STATUS_NOT_INITIALIZED|CUDNN_STATUS_INTERNAL_ERROR(?!_\w)",
        ("cudnn-version-mismatch", "ld-library-path-shadowing", "gpu-memory-insufficient", "gpu-memory-held-by-other-process"),
        "cuDNN failed to initialise",
        (
            "CUDNN_STATUS_NOT_INITIALIZED",
            "CUDNN_STATUS_INTERNAL_ERROR",
        ),
    ),
    Signature(
        r"CUBLAS_STATUS_NOT_INITIALIZED",
        ("cuda-mixed-versions", "gpu-memory-insufficient"),
        "cuBLAS failed to initialise",
        ("CUBLAS_STATUS_NOT_INITIALIZED",),
    ),
    status(
        999,
        "UNKNOWN",
        ("CUDA unknown error",),
        ("uvm-broken-after-suspend", "uvm-not-loaded", "cuda-init-fails", "device-permission-denied"),
        "CUDA reports an unknown error, usually from a kernel driver in a bad state",
        also=rf"{_OF_CUDA}: unknown error\b|\bcuInit\(\)\W{{1,3}}unknown\b|Cuda failure (?:999 )?'unknown error'|\(30 vs\. 0\)|\berror=30 : |\bcuda[A-Z]\w{{3,40}} returned (?:30|999)\b|unknown error initializing cuda driver library|Found an unknown error - this may be due",
        tells="lsmod | grep nvidia_uvm; sudo dmesg | grep -E 'PM: suspend|NVRM' | tail -5",
    ),
    status(
        304,
        "OPERATING_SYSTEM",
        ("OS call failed or operation not supported on this OS",),
        ("cuda-init-fails", "device-nodes-missing", "device-permission-denied", "container-no-gpu-access"),
        "CUDA's call into the kernel driver failed: its device files are missing or may not be opened",
        tells="ls -l /dev/nvidia*; groups",
    ),
    status(
        3,
        "NOT_INITIALIZED",
        ("CUDA driver initialization failed, you might not have a CUDA gpu",),
        ("cuda-init-fails", "uvm-hmm-init-failure", "driver-library-mismatch", "preloaded-library-intercepts-cuda"),
        "CUDA failed to initialise",
        also=rf"\bcudaErrorInitializationError\b|{_OF_CUDA}: initialization error\b(?!:)|\b(?:cuda driver library|nvcuda|cudart) init failure: 3\b",
        tells="sudo dmesg | grep request_free_mem_region; cat /proc/driver/nvidia/version",
    ),
    # HAMi-core's logger, include/log_utils.h; glibc's loader
    Signature(
        r"\[HAMI-core (?:ERROR|Warn)|ERROR: ld\.so: object '[^'\n]{1,200}(?:gpu|cuda|nvml)[^'\n]{0,60}' from \S{1,40} cannot be preloaded",
        ("preloaded-library-intercepts-cuda",),
        "a preloaded library that answers CUDA's calls fails",
        (
            "[HAMI-core ERROR (pid:29 thread=1 libvgpu.c:122)]: cuInit failed: 3",
            "ERROR: ld.so: object '/usr/local/vgpu/libvgpu.so' from /etc/ld.so.preload cannot be preloaded (cannot read file data): ignored.",
        ),
        vague=True,
    ),
    Signature(
        r"(?:failed call to cuInit|operation cuInit\(0\) failed|Unexpected error from cudaGetDeviceCount|\b(?:cuda driver library|nvcuda|cudart) init failure: \d)",
        ("cuda-init-fails",),
        "CUDA failed to initialise",
        (
            "failed call to cuInit",
            "operation cuInit(0) failed",
            "Unexpected error from cudaGetDeviceCount",
        ),
    ),
    # torch/cuda/__init__.py, which finds the library and gets an error from nvmlInit
    Signature(
        r"Can't initialize NVML",
        ("driver-library-mismatch", "no-driver", "container-cgroup-device-lost", "container-no-gpu-access", "device-permission-denied"),
        "NVML does not initialise",
        ("UserWarning: Can't initialize NVML",),
        tells="nvidia-smi; ls -l /dev/nvidiactl",
    ),
    # nvidia-smi of 550 and of 470
    Signature(
        r"(?:^|: )\s{0,20}No devices (?:were )?found\.?$|: No devices were found\. "
        # as people report it, which a condition ("if nvidia-smi says …") does not
        r"|(?i:(?<!\bwhen )\bnvidia-smi\b[^\n.?]{0,40}?(?<!longer )(?<!never )\b(?:returns|returned|shows|showed|says|said|gives|gave|reports|reported|prints|printed|outputs|displays|get|got)"
        r"(?: me)?(?: only| just| that)?:?\s\W{0,3}no devices (?:were )?found\b|\bno devices? (?:were )?found\W{1,3}(?:in|by|from) (?:the )?(?:output of )?nvidia-smi\b)",
        (
            "gpu-count-mismatch",
            "gpu-too-new-for-driver",
            "driver-too-new-for-gpu",
            "gpu-fell-off-bus",
            "device-permission-denied",
            "container-no-gpu-access",
            "scheduler-gpu-not-allocated",
            "pci-bar-not-assigned",
        ),
        "the driver is loaded and lists no GPU",
        ("No devices were found",),
        said=True,
    ),
    # warnings of tensorflow/core/common_runtime/gpu/gpu_device.cc, which another failure may follow
    Signature(
        r"Ignoring (?:visible )?gpu device [^\n]{1,300}with Cuda compute capability|The minimum required Cuda capability is \d",
        ("gpu-too-old-for-build",),
        "TensorFlow has no kernels for this GPU",
        ("Ignoring visible gpu device (device: 0, name: GeForce GTX 780M) with Cuda compute capability 3.0",),
    ),
    Signature(
        r"TensorFlow was not built with CUDA kernel binaries compatible with compute capability",
        ("slow-ptx-jit", "gpu-too-new-for-build"),
        "the build has only PTX for this GPU, which the driver compiles at first use",
        ("TensorFlow was not built with CUDA kernel binaries compatible with compute capability 12.0",),
    ),
)

_EXTENSION = r"flash[-_]?att|flashinfer|xformers|/apex/|/csrc/|third_party|sageattention|spconv|pytorch3d|nvdiffrast|diff_gaussian|tinycudann|exllama|torch_scatter|mmcv"
"""A compiled extension, by its name or by the folder of its sources."""
# before the status that the same line has: csrc/flash_attn of flash-attn and xFormers, which print the place of the failed launch;
# a program's own check of a launch, such as that of NVIDIA's samples
_OF_EXTENSIONS = (
    Signature(
        rf"(?i)(?:{_EXTENSION})[^\n]{{0,200}}no kernel image|no kernel image[^\n]{{0,160}}(?:{_EXTENSION})"
        r"|(?<![/\\\w.-])[\w-]{2,40}\.cuh?[:(, ]{1,3}(?:line )?\d{1,5}[^\n]{0,60}no kernel image"
        r"|\b(?:cudaCheckError\(\)|checkCudaErrors\(\)|GPUassert)[^\n]{0,40}no kernel image|Failed to launch \w{1,40} kernel \(error code no kernel image",
        ("extension-missing-arch",),
        "a compiled extension or program has no kernels for this GPU",
        (
            "CUDA Error: no kernel image is available for execution on the device (209) /root/.cache/flashinfer/0.2.5/csrc/norm.cu: line 88",
            "CUDA error (/src/third_party/flash-attention/hopper/flash_fwd_launch_template.h:175): no kernel image is available",
            "GPUassert: no kernel image is available for execution on the device blur.cu 41",
        ),
    ),
)
_EVERY = (
    *_OF_EXTENSIONS,
    *STATUSES,
    *MODULES,
    *CONTAINERS,
    *WINDOWS,
    *_FRAMEWORKS,
    *LIBRARIES,
    *BUILDS,
    *BUILDING,
    *PACKAGES,
    *IMPORTS,
    *INSTALLERS,
    *DRIVER_LOG,
    *MANAGEMENT,
    *PASTED,
    *COLLECTIVES,
    *SETTINGS,
    *MEMORY,
    *STARVED,
    *DRIVERS,
    *(msgspec.structs.replace(one, vague=True) for one in _VAGUE),
    *STALLED,
    *SLOWNESS,
    *UNNAMED,
    *SAID_TO_SEE_NO_GPU,
)
SIGNATURES: tuple[Signature, ...] = tuple(sorted(_EVERY, key=lambda one: (one.vague, one.last)))
"""Specific signatures first, those that only say what failed last."""
