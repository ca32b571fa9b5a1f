"""Texts whose cause lies between several GPUs, or that a GPU is slow, and texts that only look as if it did."""

from __future__ import annotations

from typing import Final

_P2P: Final = "nccl-p2p-acs-iommu"
_FAILED: Final = "all-reduce-failed"
_SLOW: Final = "        {reason:<34}: {state}\n"

CASES: Final = (
    ("hw-slowdown", "        HW Slowdown                       : Active\n            HW Thermal Slowdown           : Not Active\n            HW Power Brake Slowdown       : Not Active\n"),
    ("fabric-prerequisites-missing", "Failed to start NVIDIA fabric manager service.\nmodprobe: ib_umad is not loaded\n8 x NVIDIA B200\n"),
    ("fabric-prerequisites-missing", "Error 802: system not yet initialized\nnvlsm is missing on this node\n"),
    ("fabric-manager-version-mismatch", "fabric manager NVIDIA GPU driver interface version 575.57.08 doesn't match with driver version 580.65.06.\n"),
    ("all-reduce-failed", "gpu5:77:91 [1] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with error Network is unreachable\n"),
    (_P2P, "Two RTX 4090: DDP hangs at the first step. It works with NCCL_P2P_DISABLE=1.\n"),
    (_P2P, "multi-GPU training gets stuck\n$ lspci -vvv | grep ACSCtl\nACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+\n"),
    (_P2P, "p2pBandwidthLatencyTest never returns on this EPYC board\n"),
    (_P2P, "gpu03:91:144 [0] NCCL WARN peer access is not supported between these two devices\n"),
    (_P2P, "Disabling IOMMU in the BIOS solved the hang on our 4x A5000 box\n"),
    (_P2P, "moving a tensor between two GPUs gives zeros on cuda:1, by way of the CPU it is right\n"),
    ("fabric-manager-version-mismatch", "fabric manager NVIDIA GPU driver interface version 570.86.15 don\u2019t match with driver version 570.124.06.\n"),
    (_FAILED, "node7:3:9 [1] NCCL WARN Connect to 10.1.4.2<39011> failed : Connection refused\n"),
    (_FAILED, "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:525] Read error [10.8.0.3]:9411: Connection reset by peer\n"),
    (_P2P, "NotImplementedError: Using RTX 4000 series doesn't support faster communication broadband via P2P or IB.\n"),
    ("cuda-visible-devices-masked", "torch.distributed.DistBackendError: NCCL error, invalid usage, NCCL version 2.14.3\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"),
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
    ("fabric-manager-missing", "Driver Version: 565.57.01\n    Product Name : NVIDIA H200\n    Fabric\n        State                             : In Progress\n"),
    ("nvlink-inactive", "$ nvidia-smi nvlink --status -i 1\n\t Link 4: <inactive>\n\t Link 5: 26.562 GB/s\n"),
    ("persistence-mode-off", "On a server with eight T4, nvidia-smi takes half a minute.\n"),
    ("persistence-mode-off", "Ubuntu 22.04, two A10: the first CUDA call takes 14 seconds, later ones are fast\n"),
    ("persistence-mode-off", "nvidia-smi is very slow on the login node\n"),
    ("fabric-manager-version-mismatch", "nv-fabricmanager[911]: fabric manager NVIDIA GPU driver interface version 535.129.03 don't match with driver version 535.183.06.\n"),
    ("fabric-manager-version-mismatch", "Error 802: system not yet initialized\nfabric manager NVIDIA GPU driver interface version 525.105.17 don't match with driver version 525.147.05\n"),
    ("nvlink-inactive", "GPU 0: NVIDIA GeForce RTX 3090\n\t Link 0: <inactive>\n\t Link 1: <inactive>\n"),
    ("nvlink-inactive", "nvlink -s\n         Link 11: <inactive>\n"),
    ("mixed-gpu-models", "torch/nn/parallel/data_parallel.py:30: UserWarning: There is an imbalance between your GPUs.\nGPU 0: TITAN V\nGPU 1: Quadro P600\n"),
    ("mixed-gpu-models", "You may want to exclude GPU 0 which has less than 75% of the memory or cores of GPU 1.\n"),
    ("mixed-gpu-models", "UserWarning: \n    There is an imbalance between your GPUs. You may want to exclude GPU 2 which\n"),
    ("nccl-version-conflict", "node9: NCCL WARN NCCL version mismatch with remote peer 10.3.1.4 (local: 2.27.3, remote 2.26.2)\n"),
    ("thermal-throttled", "training slows down after ten minutes, the GPU overheats in its case\n"),
    ("thermal-throttled", "==============NVSMI LOG==============\nDriver Version                            : 570.124.06\nGPU 00000000:C1:00.0\n    Clocks Event Reasons\n" + _SLOW.format(reason="SW Thermal Slowdown", state="Active")),
    ("hw-slowdown", "Clocks Throttle Reasons\n" + _SLOW.format(reason="HW Slowdown", state="Active")),
    ("gpu-not-faster-than-cpu", "Keras: training on the CPU is faster than on the GPU\n"),
    ("gpu-not-faster-than-cpu", "# GPU much slower than CPU for a small network\n"),
    ("thermal-throttled", _SLOW.format(reason="HW Thermal Slowdown", state="Active")),
    ("hw-slowdown", _SLOW.format(reason="HW Power Brake Slowdown", state="Active")),
    ("gpu-not-faster-than-cpu", "torch==2.5.1\nmy LSTM on the GPU is slower than the CPU\n"),
    ("nccl-p2p-acs-iommu", "NCCL all_reduce hangs on 4 GPUs\nAMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000c address=0x20000000 flags=0x0020]\n"),
    ("nccl-p2p-acs-iommu", "./build/all_reduce_perf -b 8 -e 128M -g 4 hangs\n4x RTX A6000\n"),
    ("nccl-p2p-acs-iommu", "nccl-tests get stuck on two L40S\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""
NEAR_MISSES: Final = (
    ("fabric-manager-missing", "PyTorch version: 2.6.0\nNVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]\nFailed to start NVIDIA fabric manager service.\n"),
    (_P2P, "PyTorch version: 2.5.1\nNCCL_P2P_DISABLE=0\nGPU 0: NVIDIA GeForce RTX 3090\n"),
    (_P2P, "torch==2.5.1\nThe notebook hangs when I plot the loss.\n"),
    (_FAILED, "node1:10:10 [0] NCCL INFO Failed to open libibverbs.so[.1]\nnode1:10:10 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)\ntorch==2.5.1\n"),
    (_FAILED, "torch==2.5.1\nnode1:10:10 [0] NCCL INFO Connected all rings\n"),
    ("thermal-throttled", "PyTorch version: 2.5.1\n" + _SLOW.format(reason="SW Thermal Slowdown", state="Not Active")),
    ("hw-slowdown", "PyTorch version: 2.5.1\n" + _SLOW.format(reason="HW Slowdown", state="Not Active")),
    ("fabric-manager-missing", "Driver Version: 565.57.01\n    Fabric\n        State                             : Completed\n        Status                            : Success\n"),
    ("nvlink-inactive", "\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\nPyTorch version: 2.5.1\n"),
    ("fabric-manager-missing", "PyTorch version: 2.5.1\nnvidia-fabricmanager.service: active (running)\n"),
)  # fmt: skip
"""A cause that must not be found, and a text."""
