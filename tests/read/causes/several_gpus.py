"""Texts whose cause lies between several GPUs, or that a GPU is slow, and texts that only look as if it did."""

from __future__ import annotations

from typing import Final

_P2P: Final = "nccl-p2p-acs-iommu"
_FAILED: Final = "all-reduce-failed"
_SLOW: Final = "        {reason:<34}: {state}\n"

CASES: Final = (
    (_P2P, "Two RTX 4090: DDP hangs at the first step. It works with NCCL_P2P_DISABLE=1.\n"),
    (_P2P, "multi-GPU training gets stuck\n$ lspci -vvv | grep ACSCtl\nACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n"),
    (_P2P, "p2pBandwidthLatencyTest never returns on this EPYC board\n"),
    (_P2P, "gpu03:91:144 [0] NCCL WARN peer access is not supported between these two devices\n"),
    (_P2P, "Disabling IOMMU in the BIOS solved the hang on our 4x A5000 box\n"),
    (_P2P, "moving a tensor between two GPUs gives zeros on cuda:1, by way of the CPU it is right\n"),
    ("fabric-manager-version-mismatch", "fabric manager NVIDIA GPU driver interface version 570.86.15 don\u2019t match with driver version 570.124.06.\n"),
    (_FAILED, "node7:3:9 [1] NCCL WARN Connect to 10.1.4.2<39011> failed : Connection refused\n"),
    (_FAILED, "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Read error [10.8.0.3]:9411: Connection reset by peer\n"),
    (_FAILED, "[rank3]:[E ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88, OpType=ALLGATHER, Timeout(ms)=600000)\n"),
    (_FAILED, "node2:40:71 [0] NCCL WARN NET/Socket : no interface found\n"),
    (_FAILED, "ncclSocketInit: connecting to address  with family 0 is neither AF_INET(2) nor AF_INET6(10)\n"),
    (_FAILED, "node1:18:90 [3] NCCL WARN NET/IB : Got completion from peer 10.2.0.7<41002> with status=12 opcode=0 len=0 vendor err 129\n"),
    (_FAILED, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:318, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n"),
    (_FAILED, "RuntimeError: NCCL Error 2: unhandled system error\n"),
    ("container-shm-too-small", "docker run --gpus all -it trainer\nncclSystemError: System call (socket, malloc, munmap, etc) failed.\n"),
    ("nccl-version-conflict", "rank0: NCCL WARN NCCL library is too old. This application was compiled with NCCL version 2.29.2, but is running with NCCL library version 2.27.3.\n"),
    ("nccl-version-conflict", "ImportError: libtorch_cuda.so: undefined symbol: ncclMemFree\n"),
    ("driver-too-old", "gpu1:12:12 [0] NCCL WARN CUDA Driver version found is 11040. Minimum requirement is 12000\n"),
    ("fabric-manager-missing", "NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 801 'operation not supported'.\n"),
    ("fabric-manager-missing", "$ systemctl status nvidia-fabricmanager\n   Active: inactive (dead)\nnvidia-fabricmanager.service: failed to start\n"),
    ("fabric-prerequisites-missing", "NCCL WARN MNNVL (cliqueSize 36) is available but not working on this system. Check the IMEX channel configuration (/dev/nvidia-caps-imex-channels).\n"),
    ("mixed-gpu-models", "UserWarning: \n    There is an imbalance between your GPUs. You may want to exclude GPU 2 which\n"),
    ("thermal-throttled", _SLOW.format(reason="HW Thermal Slowdown", state="Active")),
    ("hw-slowdown", _SLOW.format(reason="HW Power Brake Slowdown", state="Active")),
    ("gpu-not-faster-than-cpu", "torch==2.5.1\nmy LSTM on the GPU is slower than the CPU\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""
NEAR_MISSES: Final = (
    (_P2P, "PyTorch version: 2.5.1\nNCCL_P2P_DISABLE=0\nGPU 0: NVIDIA GeForce RTX 3090\n"),
    (_P2P, "torch==2.5.1\nThe notebook hangs when I plot the loss.\n"),
    (_FAILED, "node1:10:10 [0] NCCL INFO Failed to open libibverbs.so[.1]\nnode1:10:10 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)\ntorch==2.5.1\n"),
    (_FAILED, "torch==2.5.1\nnode1:10:10 [0] NCCL INFO Connected all rings\n"),
    ("thermal-throttled", "PyTorch version: 2.5.1\n" + _SLOW.format(reason="SW Thermal Slowdown", state="Not Active")),
    ("hw-slowdown", "PyTorch version: 2.5.1\n" + _SLOW.format(reason="HW Slowdown", state="Not Active")),
    ("fabric-manager-missing", "PyTorch version: 2.5.1\nnvidia-fabricmanager.service: active (running)\n"),
)  # fmt: skip
"""A cause that must not be found, and a text."""
