"""What only says what failed last."""

from __future__ import annotations

import msgspec

from gpudoctor.signatures.signature import Signature
from gpudoctor.signatures.statuses import STATUS_PREFIX, status_signature

_BEFORE_STATUS = r"(?:\bCUDA|\bcuInit|\bcuda error|\bcuda runtime error \(30?\))[^\n]{0,60}"
"""What stands before a status' text where its number and name are left out."""
_NOT_STARTED = r"failed call to cuInit|operation cuInit\(0\) failed|Unexpected error from cudaGetDeviceCount|\b(?:cuda driver library|nvcuda|cudart) init failure: \d"
"""What is said of any status with which CUDA does not start."""
_VAGUE_SIGNATURES = (
    Signature(
        r"(?i:\bonly (?:shows?|sees?|lists?|detects?|finds?) \d{1,2} (?:out )?of (?:the |my |our )?\d{1,2} gpus|\b(?:shows?|sees?|lists?|detects?|finds?) only \d{1,2} (?:out )?of (?:the |my |our )?\d{1,2} gpus)"
        r"|gres/gpu count reported lower than configured|RmInitAdapter failed!|rm_init_adapter failed",
        ("gpu-count-mismatch", "pci-bar-not-assigned"),
        "the driver or scheduler sees fewer GPUs than are installed",
        ("gres/gpu count reported lower than configured (7 < 8)", "RmInitAdapter failed! (0x24:0x72:1568)", "rm_init_adapter failed"),
    ),
    Signature(
        r"(?i)\bnvidia-smi\b[^\n]{0,30}\b(?:only|just)\b[^\n]{0,20}\b(?:\d|1[0-5]|one|two|three|four|five|six|seven) (?:gpus?\b|cards?\b|of (?:them|the|my|our|\d))(?![^\n.]{0,24}\b(?:as (?:it should|expected|intended)|us(?:ed?|ing)|utili[sz]\w{1,5}|busy|idle|active|working|running|loaded|occupied)\b)"
        r"|(?i:\bnvidia-smi (?:lists?|listed|shows?|showed|sees|saw|reports?|reported|finds|found) (?:only|just) (?:\d|1[0-5])(?=[.,;)]|$))"
        r"|(?i:\b(?:\d|1[0-5]|one|two|three|four|five|six|seven)(?: of (?:the |my |our )?(?:\d{1,2}|\w{3,5}))? (?:gpus?|cards?) (?:(?:have|has|had|is|are|was|were|just|suddenly) ){0,2}(?:disappeared|vanished|gone|missing|lost) (?:in|from) (?:the (?:output|list) of )?nvidia-smi\b|\b(?:came up|is|was|are|were|boots?|booted) short (?:a|one|two|\d{1,2}) (?:gpus?|cards?)\b)",
        ("gpu-count-mismatch",),
        "nvidia-smi lists fewer GPUs than are installed",
        ("nvidia-smi only lists 7 GPUs", "since the night 3 GPUs are missing from nvidia-smi"),
    ),
    Signature(
        r"NVRM: Xid \([^)\n]{1,100}\): (?!(?:13|31|43|45)\b)\d+",
        ("gpu-errors-logged",),
        "the driver logged an Xid error",
        ("NVRM: Xid (PCI:0000:07:00): 109, pid=4242, name=python3, Ch 00000008, errorString CTX SWITCH TIMEOUT",),
    ),
    status_signature(
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
            "kernel-module-not-built",
            "no-gpu",
            "wsl-linux-driver-installed",
        ),
        "CUDA sees no GPU: all are hidden, or their device files cannot be opened",
        also=r"no nvidia devices detected\W{1,3}library=|(?i:\bno (?:CUDA|NVIDIA) devices (?:(?:could be|were|are|was) )?(?:found|detected)\b)"  # the last is llama.cpp's
        r"|ProcessGroupNCCL is only supported with GPUs, no GPUs found",
        tells='echo "[$CUDA_VISIBLE_DEVICES]"; ls -l /dev/nvidia*; nvidia-smi -L',
    ),
    # NVIDIA's Caffe, src/caffe/common.cpp and include/caffe/util/cudnn.hpp: https://github.com/NVIDIA/DIGITS/issues/819
    Signature(
        r"Cannot create cuDNN handle|Check failed: status == CUDNN_STATUS_SUCCESS",
        ("cudnn-version-mismatch", "gpu-too-old-for-build"),
        "cuDNN failed to initialise",
        ("Cannot create cuDNN handle. cuDNN won't be available.",),
        vague=True,
        needs_support=True,
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
    # https://github.com/coqui-ai/TTS/issues/1517, https://github.com/vllm-project/vllm/issues/35608
    Signature(
        r"CUBLAS_STATUS_INVALID_VALUE when calling \W{0,3}cublas\w{0,3}(?:[SHDCZ]ge|Ge|Lt)m",
        ("ld-library-path-shadowing", "cuda-mixed-versions"),
        "cuBLAS refuses a matmul, usually because another release of it is loaded than the framework's own",
        ("CUBLAS_STATUS_INVALID_VALUE when calling cublasSgemm",),
        tells="echo $LD_LIBRARY_PATH; ldconfig -p | grep libcublas",
    ),
    status_signature(
        999,
        "UNKNOWN",
        ("CUDA unknown error",),
        ("uvm-broken-after-suspend", "uvm-not-loaded", "cuda-init-fails", "device-permission-denied"),
        "CUDA reports an unknown error, usually from a kernel driver in a bad state",
        also=rf"{_BEFORE_STATUS}: unknown error\b|\bcuInit\(\)\W{{1,3}}unknown\b|Cuda failure (?:999 )?'unknown error'|\(30 vs\. 0\)|\berror=30 : |\bcuda[A-Z]\w{{3,40}} returned (?:30|999)\b|\bcode: (?:30|999), reason: unknown error\b|unknown error initializing cuda driver library|Found an unknown error - this may be due",
        tells="lsmod | grep nvidia_uvm; sudo dmesg | grep -E 'PM: suspend|NVRM' | tail -5",
    ),
    status_signature(
        304,
        "OPERATING_SYSTEM",
        ("OS call failed or operation not supported on this OS",),
        ("cuda-init-fails", "device-nodes-missing", "device-permission-denied", "container-no-gpu-access"),
        "CUDA's call into the kernel driver failed: its device files are missing or may not be opened",
        tells="ls -l /dev/nvidia*; groups",
    ),
    status_signature(
        3,
        "NOT_INITIALIZED",
        ("CUDA driver initialization failed, you might not have a CUDA gpu",),
        ("cuda-init-fails", "uvm-hmm-init-failure", "driver-library-mismatch", "preloaded-library-intercepts-cuda"),
        "CUDA failed to initialise",
        also=rf"\bcudaErrorInitializationError\b|{_BEFORE_STATUS}: initialization error\b(?!:)|\bcode: 3, reason: initialization error\b|\b(?:cuda driver library|nvcuda|cudart) init failure: 3\b",
        tells="sudo dmesg | grep request_free_mem_region; cat /proc/driver/nvidia/version",
    ),
    # HAMi-core's logger, include/log_utils.h; glibc's loader
    Signature(
        r"\[HAMI-core (?:ERROR|Warn)|ERROR: ld\.so: object '[^'\n]{1,200}(?:gpu|cuda|nvml)[^'\n]{0,60}' from \S{1,40} cannot be preloaded|\b(?i:segfault\w{0,2}|segmentation fault|sigsegv|crash\w{0,2})\b[^\n]{0,80}\blib(?:vgpu|cuda-control)\.so",
        ("preloaded-library-intercepts-cuda",),
        "a preloaded library that answers CUDA's calls fails",
        (
            "[HAMI-core ERROR (pid:29 thread=1 libvgpu.c:122)]: cuInit failed: 3",
            "ERROR: ld.so: object '/usr/local/vgpu/libvgpu.so' from /etc/ld.so.preload cannot be preloaded (cannot read file data): ignored.",
        ),
        vague=True,
    ),
    # what a library in the way does to CUDA's functions; only a preloaded one makes it of these
    Signature(
        r"(?i)\b(?:hangs?|hung|freezes?|froze|stuck|segfaults?|crashe[sd])\b[^\n.]{0,30}\b(?:first|any|every|each) (?:cuda|gpu) call\b"
        r"|^#\d{1,3}\s{1,4}(?:0x\w{1,16} in )?cu[\w:]{2,60} \([^\n]{0,200}\) from \S{0,200}lib(?:cudnn|cuda|cublas|cudart)",
        ("preloaded-library-intercepts-cuda",),
        "a call of CUDA does not return while a library is preloaded",
        ("hangs at the first CUDA call", "#0  cudnnCreate () from libcudnn.so.9"),
        vague=True,
        needs_support=True,
    ),
    # any status, where the text says that root gets another answer
    Signature(
        _NOT_STARTED,
        ("device-permission-denied",),
        "CUDA failed to initialise for this user",
        ("Unexpected error from cudaGetDeviceCount",),
        needs_support=True,
    ),
    Signature(
        _NOT_STARTED,
        ("cuda-init-fails",),
        "CUDA failed to initialise",
        (
            "failed call to cuInit",
            "operation cuInit(0) failed",
            "Unexpected error from cudaGetDeviceCount",
        ),
    ),
    Signature(
        rf"{STATUS_PREFIX} \d{{1,3}}(?!\d)",
        ("cuda-init-fails", "driver-too-old", "container-no-gpu-access", "vgpu-unlicensed"),
        "a call of CUDA fails where the program looks for GPUs",
        ("cuda driver library failed to get device context 801",),
        last=True,
        tells="nvidia-smi; sudo dmesg | grep NVRM | tail -5",
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
    # ls, where nothing else in a text says why
    Signature(
        r"cannot access '?/dev/nvidia(?:\*|\d|ctl)'?: No such file|\bls [^\n]{0,12}/dev/nvidia\S{0,4}: No such file",
        ("device-nodes-missing", "no-driver", "container-no-gpu-access"),
        "the driver's device files are not there",
        ("ls: cannot access '/dev/nvidia*': No such file or directory",),
        last=True,
        tells="lsmod | grep nvidia; ls -d /.dockerenv",
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
VAGUE = tuple(msgspec.structs.replace(failure, vague=True) for failure in _VAGUE_SIGNATURES)
