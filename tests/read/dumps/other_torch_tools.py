"""ds_report, Lightning, bitsandbytes and Unsloth. Written for these tests."""

from __future__ import annotations

from typing import Final

DS_OK: Final = """\
--------------------------------------------------
DeepSpeed general environment info:
torch install path ............... ['/opt/conda/lib/python3.10/site-packages/torch']
torch version .................... 2.1.2+cu121
deepspeed install path ........... ['/opt/conda/lib/python3.10/site-packages/deepspeed']
deepspeed info ................... 0.13.1, unknown, unknown
torch cuda version ............... 12.1
torch hip version ................ None
nvcc version ..................... 12.1
deepspeed wheel compiled w. ...... torch 2.1, cuda 12.1
shared memory (/dev/shm) size .... 503.79 GB
"""
LIGHT_OK: Final = """\
* CUDA:
\t- GPU:
\t\t- NVIDIA RTX A6000
\t\t- NVIDIA RTX A6000
\t- available:         True
\t- version:           11.7
* Lightning:
\t- lightning-utilities: 0.9.0
\t- pytorch-lightning: 2.0.4
\t- torch:             2.0.1
\t- torchmetrics:      1.0.0
\t- torchvision:       0.15.2
* Packages:
\t- numpy:             1.24.3
\t- torch:             2.0.1
\t- torchvision:       0.15.2
* System:
\t- OS:                Linux
\t- architecture:
\t\t- 64bit
\t\t- ELF
\t- processor:         x86_64
\t- python:            3.9.16
\t- release:           5.15.0-71-generic
\t- version:           #78-Ubuntu SMP Tue Apr 18 09:00:29 UTC 2023
"""
BNB_OK: Final = """\
==================== bitsandbytes v0.46.0 =====================
Platform: Linux-6.8.0-60-generic-x86_64-with-glibc2.39
  libc: glibc-2.39
Python: 3.12.3
PyTorch: 2.7.0+cu126
  CUDA: 12.6
  HIP: N/A
  XPU: N/A
Related packages:
  accelerate: 1.7.0
  triton: 3.3.0
CUDA specs: CUDASpecs(highest_compute_capability=(8, 6), cuda_version_string='126', cuda_version_tuple=(12, 6))
"""
UNSLOTH_OK: Final = """\
==((====))==  Unsloth 2025.3.19: Fast Llama patching. Transformers: 4.50.3.
   \\\\   /|    Tesla T4. Num GPUs = 1. Max memory: 14.741 GB. Platform: Linux.
O^O/ \\_/ \\    Torch: 2.6.0+cu124. CUDA: 7.5. CUDA Toolkit: 12.4. Triton: 3.2.0
\\        /    Bfloat16 = FALSE. FA [Xformers = 0.0.29.post3. FA2 = False]
"""
LIGHT_OLD: Final = LIGHT_OK.replace("NVIDIA RTX A6000", "NVIDIA GeForce RTX 5080")
UNSLOTH_5070: Final = UNSLOTH_OK.replace("Tesla T4", "NVIDIA GeForce RTX 5070 Ti").replace("CUDA: 7.5", "CUDA: 12.0")

HEALTHY: Final = (DS_OK, LIGHT_OK, BNB_OK, UNSLOTH_OK)
CASES: Final = (
    ("gpu-too-new-for-build", LIGHT_OLD),
    ("gpu-too-new-for-build", UNSLOTH_5070),
)
