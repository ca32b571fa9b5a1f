"""The dumps of SGLang, MMCV and Detectron2. Written for these tests."""

from __future__ import annotations

from typing import Final

SGLANG_OK: Final = """\
Python: 3.10.12 (main, Nov  6 2024, 20:22:13) [GCC 11.4.0]
CUDA available: True
GPU 0,1,2,3: NVIDIA A100-SXM4-80GB
GPU 0,1,2,3 Compute Capability: 8.0
CUDA_HOME: /usr/local/cuda
NVCC: Cuda compilation tools, release 12.4, V12.4.131
CUDA Driver Version: 550.90.07
PyTorch: 2.5.1+cu124
sglang: 0.4.3
flashinfer: 0.2.1.post2
triton: 3.1.0
transformers: 4.48.3
NVIDIA Topology:
\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity
GPU0\t X \tNV12\tNV12\tNV12\t0-31
Hypervisor vendor: KVM
ulimit soft: 1048576
"""
MMCV_OK: Final = """\
sys.platform: linux
Python: 3.8.13 (default, Mar 28 2022, 11:38:47) [GCC 7.5.0]
CUDA available: True
GPU 0: NVIDIA GeForce RTX 3090
CUDA_HOME: /usr/local/cuda-11.3
NVCC: Cuda compilation tools, release 11.3, V11.3.109
GCC: gcc (Ubuntu 9.4.0-1ubuntu1~20.04.1) 9.4.0
PyTorch: 1.10.0+cu113
PyTorch compiling details: PyTorch built with:
  - GCC 7.3
  - CUDA Runtime 11.3
  - NVCC architecture flags: -gencode;arch=compute_37,code=sm_37;-gencode;arch=compute_50,code=sm_50;-gencode;arch=compute_60,code=sm_60;-gencode;arch=compute_70,code=sm_70;-gencode;arch=compute_75,code=sm_75;-gencode;arch=compute_80,code=sm_80;-gencode;arch=compute_86,code=sm_86
  - CuDNN 8.2
  - Magma 2.5.2
TorchVision: 0.11.0+cu113
OpenCV: 4.6.0
MMCV: 1.6.0
MMCV Compiler: GCC 9.4
MMCV CUDA Compiler: 11.3
"""
D2_OK: Final = """\
----------------------  ---------------------------------------------------------------
sys.platform            linux
Python                  3.9.16 (main, Dec  7 2022, 01:11:51) [GCC 9.4.0]
numpy                   1.22.4
detectron2              0.6 @/usr/local/lib/python3.9/dist-packages/detectron2
Compiler                GCC 9.4
CUDA compiler           CUDA 11.6
detectron2 arch flags   7.5
PyTorch                 1.13.1+cu116 @/usr/local/lib/python3.9/dist-packages/torch
PyTorch debug build     False
GPU available           Yes
GPU 0                   Tesla T4 (arch=7.5)
Driver version          525.85.12
CUDA_HOME               /usr/local/cuda
torchvision             0.14.1+cu116 @/usr/local/lib/python3.9/dist-packages/torchvision
----------------------  ---------------------------------------------------------------
"""
MM_3060: Final = """\
sys.platform: linux
Python: 3.7.10 (default, Feb 26 2021, 18:47:35) [GCC 7.3.0]
CUDA available: True
GPU 0: GeForce RTX 3060
NVCC: Build cuda_11.1.TC455_06.29190527_0
PyTorch: 1.8.0
  - CUDA Runtime 11.1
"""
MMDET_K80: Final = """\
sys.platform: win32
Python: 3.7.2 (tags/v3.7.2:9a3ffc0492, Dec 23 2018, 23:09:28) [MSC v.1916 64 bit (AMD64)]
CUDA available: True
GPU 0: Tesla K80
CUDA_HOME: C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.1
NVCC: Cuda compilation tools, release 11.1, V11.1.74
PyTorch: 1.11.0+cu113
  - CUDA Runtime 11.3
  - NVCC architecture flags: -gencode;arch=compute_37,code=sm_37;-gencode;arch=compute_50,code=sm_50;-gencode;arch=compute_86,code=sm_86;-gencode;arch=compute_37,code=compute_37
"""
SGLANG_5090: Final = (
    SGLANG_OK.replace("NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 5090")
    .replace("Capability: 8.0", "Capability: 12.0")
    .replace("550.90.07", "575.51.03")
)
MMCV_CU102: Final = (
    MMCV_OK.replace("1.10.0+cu113", "1.10.0")
    .replace("CUDA Runtime 11.3", "CUDA Runtime 10.2")
    .replace("0.11.0+cu113", "0.11.0")
    .replace(";-gencode;arch=compute_80,code=sm_80;-gencode;arch=compute_86,code=sm_86", "")
)
D2_DRV: Final = D2_OK.replace("525.85.12", "418.67").replace("GPU available           Yes", "GPU available           False")

HEALTHY: Final = (SGLANG_OK, MMCV_OK, D2_OK, MM_3060, MMDET_K80)
CASES: Final = (
    ("gpu-too-new-for-build", SGLANG_5090),
    ("gpu-too-new-for-build", MMCV_CU102),
    ("driver-too-old", D2_DRV),
)
