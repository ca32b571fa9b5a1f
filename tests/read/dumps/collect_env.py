"""`torch.utils.collect_env` of PyTorch 1.0 to 2.7, and vLLM's. Written for these tests."""

from __future__ import annotations

from typing import Final

CE_1_0_OK: Final = """\
PyTorch version: 1.0.0
Is debug build: No
CUDA used to build PyTorch: 9.0.176

OS: Ubuntu 16.04.5 LTS
GCC version: (Ubuntu 5.4.0-6ubuntu1~16.04.10) 5.4.0 20160609
CMake version: version 3.5.1

Python version: 3.6
Is CUDA available: Yes
CUDA runtime version: 9.0.176
GPU models and configuration:
GPU 0: TITAN Xp
GPU 1: TITAN Xp

Nvidia driver version: 390.87
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.7.3.1
/usr/local/cuda-9.0/lib64/libcudnn.so.7.3.1

Versions of relevant libraries:
[pip] numpy (1.15.4)
[pip] torch (1.0.0)
[conda] pytorch                   1.0.0           py3.6_cuda9.0.176_cudnn7.4.1_1    pytorch
[conda] mkl                       2018.0.3                      1
"""
VLLM_OK: Final = """\
==============================
        System Info
==============================
OS                           : Ubuntu 22.04.5 LTS (x86_64)
GCC version                  : (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
Libc version                 : glibc-2.35

==============================
       PyTorch Info
==============================
PyTorch version              : 2.7.0+cu126
Is debug build               : False
CUDA used to build PyTorch   : 12.6
ROCM used to build PyTorch   : N/A

==============================
      Python Environment
==============================
Python version               : 3.12.10 (main, Apr  9 2025, 04:03:51) [Clang 20.1.0 ] (64-bit runtime)
Python platform              : Linux-5.15.0-139-generic-x86_64-with-glibc2.35

==============================
       CUDA / GPU Info
==============================
Is CUDA available            : True
CUDA runtime version         : 12.4.131
CUDA_MODULE_LOADING set to   : LAZY
GPU models and configuration :
GPU 0: NVIDIA H100 80GB HBM3
GPU 1: NVIDIA H100 80GB HBM3

Nvidia driver version        : 570.124.06
cuDNN version                : Could not collect
HIP runtime version          : N/A

==============================
Versions of relevant libraries
==============================
[pip3] numpy==2.2.5
[pip3] nvidia-cublas-cu12==12.6.4.1
[pip3] nvidia-cudnn-cu12==9.5.1.17
[pip3] nvidia-nccl-cu12==2.26.2
[pip3] torch==2.7.0
[pip3] torchaudio==2.7.0
[pip3] torchvision==0.22.0
[pip3] transformers==4.51.3
[pip3] triton==3.3.0
[conda] Could not collect

==============================
         vLLM Info
==============================
ROCM Version                 : Could not collect
Neuron SDK Version           : N/A
vLLM Version                 : 0.9.0
vLLM Build Flags:
  CUDA Archs: Not Set; ROCm: Disabled; Neuron: Disabled
GPU Topology:
  \tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tPIX\t0-51\t0\tN/A
GPU1\tNV18\t X \tNODE\t0-51\t0\tN/A

==============================
     Environment Variables
==============================
NVIDIA_VISIBLE_DEVICES=all
LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64
CUDA_VERSION=12.4.1
NVIDIA_DRIVER_CAPABILITIES=compute,utility
VLLM_USE_V1=1
"""
CE_ROCM_OK: Final = """\
PyTorch version: 2.5.1+rocm6.2
Is debug build: False
CUDA used to build PyTorch: N/A
ROCM used to build PyTorch: 6.2.41133-dd7f95766

OS: Ubuntu 24.04.1 LTS (x86_64)
Python version: 3.12.3 (main) (64-bit runtime)
Python platform: Linux-6.8.0-48-generic-x86_64-with-glibc2.39
Is CUDA available: True
CUDA runtime version: Could not collect
GPU models and configuration: AMD Radeon RX 7900 XTX (gfx1100)
Nvidia driver version: Could not collect
HIP runtime version: 6.2.41133
MIOpen runtime version: 3.2.0
[pip3] numpy==1.26.3
[pip3] torch==2.5.1+rocm6.2
"""
CE_XPU_OK: Final = """\
PyTorch version: 2.7.0+xpu
Is debug build: False
CUDA used to build PyTorch: None
ROCM used to build PyTorch: N/A
OS: Ubuntu 24.10 (x86_64)
Python version: 3.12.7 (main) (64-bit runtime)
Is CUDA available: False
GPU models and configuration: Could not collect
Nvidia driver version: Could not collect
Is XPU available: True
XPU used to build PyTorch: 20250000
Intel GPU models detected:
* [0] _XpuDeviceProperties(name='Intel(R) Arc(TM) B580 Graphics', platform_name='Intel(R) oneAPI')
[pip3] torch==2.7.0+xpu
"""
CE_MAC_OK: Final = """\
PyTorch version: 2.3.0
Is debug build: False
CUDA used to build PyTorch: None
ROCM used to build PyTorch: N/A

OS: macOS 14.4.1 (arm64)
GCC version: Could not collect
Python version: 3.11.8 (main) [Clang 15.0.0] (64-bit runtime)
Python platform: macOS-14.4.1-arm64-arm-64bit
Is CUDA available: False
CUDA runtime version: No CUDA
GPU models and configuration: No CUDA
Nvidia driver version: No CUDA
cuDNN version: No CUDA
CPU:
Apple M2 Pro
[pip3] numpy==1.26.4
[pip3] torch==2.3.0
"""
CUDNN_LOADED: Final = """\
PyTorch version: 2.6.0+cu124
CUDA used to build PyTorch: 12.4
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 3090
Nvidia driver version: 550.54.15
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.8.0.5
/usr/lib/x86_64-linux-gnu/libcudnn_adv_infer.so.8.0.5
"""
CE_WINDOWS_CPU: Final = """\
PyTorch version: 2.4.0
Is debug build: False
CUDA used to build PyTorch: None
OS: Microsoft Windows 11 Pro
Python version: 3.11.5 (tags/v3.11.5:cce6ba9, Aug 24 2023, 14:38:34) [MSC v.1936 64 bit (AMD64)] (64-bit runtime)
Python platform: Windows-10-10.0.22631-SP0
Is CUDA available: False
CUDA runtime version: 12.4.131
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 4060 Laptop GPU
Nvidia driver version: 552.22
[pip3] torch==2.4.0
"""
TWOCOPIES: Final = """\
PyTorch version: 2.6.0+cu124
CUDA used to build PyTorch: 12.4
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 3090
Nvidia driver version: 570.124.04
[pip3] numpy==1.26.4
[pip3] torch==2.8.0
[pip3] torchvision==0.23.0
"""
CE_1_0_DRIVER_OLD: Final = CE_1_0_OK.replace("390.87", "375.26").replace("Is CUDA available: Yes", "Is CUDA available: No")
VLLM_VISION: Final = VLLM_OK.replace("torchvision==0.22.0", "torchvision==0.20.1")
VLLM_DRV: Final = (
    VLLM_OK.replace("570.124.06", "470.57.02")
    .replace("Is CUDA available            : True", "Is CUDA available            : False")
    .replace("H100 80GB HBM3", "A100-SXM4-40GB")
)

HEALTHY: Final = (CE_1_0_OK, VLLM_OK, CE_ROCM_OK, CE_XPU_OK, CE_MAC_OK, CUDNN_LOADED)
CASES: Final = (
    ("driver-too-old", CE_1_0_DRIVER_OLD),
    ("torch-torchvision-mismatch", VLLM_VISION),
    ("driver-too-old", VLLM_DRV),
    ("cpu-only-build", CE_WINDOWS_CPU),
    ("two-copies-of-framework", TWOCOPIES),
)
