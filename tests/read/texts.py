"""Texts as people paste them, written for these tests, and the ways in which they are pasted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

Form: TypeAlias = Callable[[str], bytes]

COLLECT_ENV: Final = """\
Collecting environment information...
PyTorch version: 2.6.0+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4
ROCM used to build PyTorch: N/A

OS: Ubuntu 24.04.2 LTS (x86_64)
Python version: 3.12.3 (main, Feb  4 2025, 14:48:35) [GCC 13.3.0] (64-bit runtime)
Python platform: Linux-6.8.0-55-generic-x86_64-with-glibc2.39
Is CUDA available: True
CUDA runtime version: Could not collect
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 5090
Nvidia driver version: 580.65.06
cuDNN version: Could not collect

Versions of relevant libraries:
[pip3] numpy==2.1.2
[pip3] torch==2.6.0+cu124
[conda] Could not collect
"""
HEALTHY_ENV: Final = COLLECT_ENV.replace("RTX 5090", "RTX 4090")
SMI: Final = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 470.82.01              Driver Version: 470.82.01      CUDA Version: 11.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  Tesla V100-SXM2-16GB           On  |   00000000:00:1E.0 Off |                    0 |
| N/A   33C    P0             41W /  300W |      74MiB /  16160MiB |      0%      Default |
+-----------------------------------------------------------------------------------------+
"""

CASES: Final = (
    ("gpu-too-new-for-build", COLLECT_ENV),
    ("gpu-too-new-for-build", COLLECT_ENV.replace("2.6.0+cu124", "2.3.1+cu121").replace("12.4", "12.1")),
    ("driver-too-old", SMI + COLLECT_ENV.replace("RTX 5090", "RTX 3090").replace("580.65.06", "470.82.01").replace("available: True", "available: False")),
    ("driver-too-old", "torch==2.4.0+cu121\nUserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040)."),
    ("cpu-only-build", COLLECT_ENV.replace("2.6.0+cu124", "2.6.0+cpu").replace("PyTorch: 12.4", "PyTorch: Could not collect")),
    ("driver-library-mismatch", "$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183\n"),
    ("driver-library-mismatch", "NVRM: API mismatch: the client has the version 550.54.14, but\nNVRM: this kernel module has the version 535.183.01.\n"),
    ("nccl-version-conflict", "ImportError: libtorch_cuda.so: undefined symbol: ncclCommWindowRegister\n"),
    ("gpu-fell-off-bus", "[ 812.1] NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"),
    ("ecc-hardware-error", "[ 99.0] NVRM: Xid (PCI:0000:3b:00): 48, pid=77, An uncorrectable double bit error (DBE) has been detected on GPU\n"),
    ("container-toolkit-missing", 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n'),
    ("container-shm-too-small", "node1:97:176 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n"),
    ("glibc-too-old", "ImportError: /lib64/libc.so.6: version `GLIBC_2.28' not found (required by libtorch.so)\n"),
    ("nvcc-toolkit-missing", "MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)\n"),
    ("host-compiler-unsupported", "error: #error -- unsupported GNU version! gcc versions later than 12 are not supported!\n"),
    ("extension-abi-mismatch", "ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""

TABLE_ROW: Final = "|   0  NVIDIA RTX A5000                On |   00000000:65:00.0 Off |                  Off |\n| 30%   41C    P2    60W / 230W |  {used}MiB / 24564MiB |      0%      {mode} |\n"
OUT_OF_MEMORY: Final = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which {free} is free. Including non-PyTorch memory, this process has {own} memory in use.\n"  # words: ok
WSL_GPUS: Final = HEALTHY_ENV.replace("Linux-6.8.0-55-generic", "Linux-6.6.87.2-microsoft-standard-WSL2").replace(
    "GPU 0: NVIDIA GeForce RTX 4090", "GPU 0: NVIDIA RTX A6000\nGPU 1: NVIDIA RTX A6000\nGPU 2: NVIDIA RTX A6000"
)
DECIDED: Final = (
    ("cuda-visible-devices-masked", "$ export CUDA_VISIBLE_DEVICES=4\nRuntimeError: No CUDA GPUs are available\n"),
    ("cuda-visible-devices-masked", "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\nCUDA_VISIBLE_DEVICES=3 python train.py\n"),
    ("cuda-init-fails", "RuntimeError: No CUDA GPUs are available\n"),
    ("no-driver", "failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"),
    ("kernel-module-not-built", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n$ dkms status\nnvidia/550.54.14: added\n"),
    ("fabric-manager-missing", "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized\n"),
    ("confidential-computing-not-ready", "Error 802: system not yet initialized\nThe VM runs with confidential computing on an H100.\n"),
    ("exclusive-compute-mode", TABLE_ROW.format(used=301, mode="E. Process") + "cudaErrorDevicesUnavailable: CUDA-capable device(s) is/are busy or unavailable\n"),
    ("compute-prohibited", TABLE_ROW.format(used=301, mode="Prohibited") + "all CUDA-capable devices are busy or unavailable\n"),
    ("gpu-memory-held-by-other-process", TABLE_ROW.format(used=23911, mode="Default") + "InternalError: Status: out of memory\n"),
    ("gpu-memory-insufficient", TABLE_ROW.format(used=411, mode="Default") + "InternalError: Status: out of memory\n"),
    ("gpu-memory-held-by-other-process", OUT_OF_MEMORY.format(free="11.31 MiB", own="1.20 GiB")),
    ("gpu-memory-insufficient", OUT_OF_MEMORY.format(free="11.31 MiB", own="22.90 GiB")),
    ("gpu-memory-held-by-other-process", "Total memory: 11.17GiB\nFree memory: 96.50MiB\nfailed to allocate 96.50M from device: CUDA_ERROR_OUT_OF_MEMORY\n"),
    ("wsl-multi-gpu-limit", WSL_GPUS + "Unexpected error from cudaGetDeviceCount(). Error 2: out of memory\n"),
    ("container-no-gpu-access", "$ docker run -it --rm my/trainer:1.2 python train.py\nRuntimeError: Found no NVIDIA driver on your system.\n"),
    ("no-driver", "$ docker run --gpus all -it my/trainer:1.2 python train.py\nRuntimeError: Found no NVIDIA driver on your system.\n"),
    ("container-cgroup-device-lost", "root@3f1c9a:/# nvidia-smi\nFailed to initialize NVML: Unknown Error\n"),
    ("mig-one-instance-per-process", "  MIG 2g.20gb     Device  1: (UUID: MIG-0c33a0f2)\ndevice >= 0 && device < num_gpus INTERNAL ASSERT FAILED\n"),
    ("glibc-too-old", "hint: You're on Linux (`manylinux_2_17_x86_64`), but `torch` (v2.6.0) only has wheels for `manylinux_2_28_x86_64`\nerror: No matching distribution found for torch\n"),
    ("python-version-unsupported", "Python 3.13.1\nERROR: Could not find a version that satisfies the requirement tensorflow==2.15.0 (from versions: 2.20.0)\n"),
    ("cpu-lacks-avx", "$ python -c 'import tensorflow'\nIllegal instruction (core dumped)\n"),
    ("uvm-broken-after-suspend", "After suspend: CUDA unknown error - this may be due to an incorrectly set up environment\n"),
    ("uvm-not-loaded", "CUDA_ERROR_UNKNOWN: unknown error\nIt works after sudo modprobe nvidia_uvm\n"),
)  # fmt: skip
"""Errors that have several causes, with what decides between them."""
HARMLESS: Final = (
    "RuntimeError: CUDA error: device-side assert triggered\n",
    "E0000 00:00:1718.1 12 cuda_dnn.cc:8579] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN\n",
    "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node\n",
    "TF-TRT Warning: Could not find TensorRT\n[PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')]\n",
)
"""Lines that look like errors, alone."""
HEALTHY: Final = (
    HEALTHY_ENV,
    SMI,
    *HARMLESS,
    "PyTorch version: 2.6.0+cu124\nIs CUDA available: True\n",
    "[pip3] torch==1.5.0\n[pip3] torchvision==0.6.0\nPyTorch version: 1.5.0\nIs CUDA available: True\n",
    HEALTHY_ENV + "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node\n",
)


def quoted(text: str) -> bytes:
    """As a mail program quotes it."""
    return "".join(f"> {line}\n" for line in text.splitlines()).encode()


def coloured(text: str) -> bytes:
    """As a terminal's log keeps it."""
    return "".join(f"\x1b[31m{line}\x1b[0m\r\n" for line in text.splitlines()).encode()


def fenced(text: str) -> bytes:
    """Within prose, as issues have it."""
    return f"### Describe the bug\n\nTraining fails, see below.\n\n```\n{text}```\n\nThanks!\n".encode()


def in_utf16(text: str) -> bytes:
    """As PowerShell redirects it."""
    return text.encode("utf-16")
