"""Texts whose cause is a GPU or its slot, and texts that only look as if it were."""

from __future__ import annotations

from typing import Final

CASES: Final = (
    ("gpu-lacks-bf16", "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5. You can use float16 instead by explicitly setting the `dtype` flag in CLI, for example: --dtype=half.\n"),
    ("gpu-lacks-bf16", "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0\n"),
    ("gpu-lacks-bf16", "RuntimeError: Current CUDA Device does not support bfloat16. Please switch dtype to float16.\n"),
    ("pcie-link-degraded", "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x4 (downgraded)\n01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090]\n"),
    ("inforom-corrupt", "nvmlInit: NVML_ERROR_CORRUPTED_INFOROM\n"),
    ("gpu-requires-reset", "NVMLError_ResetRequired: GPU requires reset\n"),
    ("row-remap-failed", "    Remapped Rows\n        Pending                           : No\n        Remapping Failure Occurred        : Yes\n"),
    ("power-cable-missing", "pynvml.NVMLError_InsufficientPower: Insufficient External Power\n"),
    ("pci-bar-not-assigned", "NVRM: GPU 0000:04:00.0: RmInitAdapter failed! (0x22:0x56:742)\nTesla P40; Above 4G Decoding is disabled in the BIOS\n"),
    ("pci-bar-not-assigned", "$ nvidia-smi\nNo devices were found\nAfter enabling Above 4G decoding the machine lists it.\n"),
    ("gpu-fell-off-bus", "NVRM: The NVIDIA GPU 0000:2a:00.0\n               NVRM: (PCI ID: 10de:2204) installed in this system has\n               NVRM: fallen off the bus and is not responding to commands.\n"),
    ("inforom-corrupt", "WARNING: infoROM is corrupted at gpu 0000:B1:00.0\n"),
    ("gpu-requires-reset", "$ nvidia-smi\nUnable to determine the device handle for GPU0000:C1:00.0: GPU requires reset\n"),
    ("row-remap-pending", "    Remapped Rows\n        Correctable Error                 : 0\n        Uncorrectable Error               : 1\n        Pending                           : Yes\n        Remapping Failure Occurred        : No\n"),
    ("power-cable-missing", "NVRM: GPU 0000:0a:00.0: GPU does not have the necessary power cables connected.\n"),
    ("gpu-fell-off-bus", "kernel: NVRM: Xid (PCI:0000:c1:00): 79, pid=2231, name=python, GPU has fallen off the bus.\n"),
    ("gpu-fell-off-bus", "$ nvidia-smi\nUnable to determine the device handle for GPU0000:81:00.0: GPU is lost.  Reboot the system to recover this GPU\n"),
    ("gpu-fell-off-bus", "81:00.0 3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB] (rev ff)\nNVML: cannot get temperature - GPU is lost\n"),
    ("gsp-firmware-failure", "NVRM: Xid (PCI:0000:3d:00): 119, pid=901, Timeout after 45s of waiting for RPC response from GPU3 GSP!\n"),
    ("gsp-firmware-failure", "[  9.1] NVRM: kgspWaitForGfwBootOk_TU102: failed to wait for GFW_BOOT: (progress 0x3)\n"),
    ("gsp-firmware-failure", "NVRM: GPU 0000:65:00.0: RmInitAdapter: Cannot initialize GSP firmware RM\nNVRM: GPU 0000:65:00.0: RmInitAdapter failed! (0x62:0x40:2053)\n"),
    ("ecc-hardware-error", "NVRM: Xid (PCI:0000:8a:00): 94, pid=7, Contained: CE User Channel\nRuntimeError: CUDA error: uncorrectable ECC error encountered\n"),
    ("ecc-hardware-error", "NVRM: Xid (PCI:0000:3b:00): 95, pid=1, Uncontained: LTC TAG\n"),
    ("row-remap-pending", "NVRM: Xid (PCI:0000:17:00): 63, Row Remapper: New row (0x00000000004f3b80) marked for remapping, reset gpu to activate.\n"),
    ("row-remap-failed", "NVRM: Xid (PCI:0000:17:00): 64, Row Remapper Error: (0x00000000004f3b80) - All reserved rows for bank are remapped\n"),
    ("power-cable-missing", "NVRM: GPU does not have the necessary power cables connected.\nNo devices were found\n"),
    ("power-cable-missing", "$ nvidia-smi\nUnable to determine the device handle for GPU 0000:0B:00.0: Insufficient External Power\n"),
    ("pci-bar-not-assigned", "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\nNVRM: BAR1 is 0M @ 0x0 (PCI:0000:0b:00.0)\n"),
    ("inforom-corrupt", "| 0  Tesla P40  On | 00000000:02:00.0 Off | 0 |\nWARNING: infoROM is corrupted at gpu 0000:02:00.0\n"),
    ("gpu-requires-reset", "Unable to determine the device handle for GPU0000:07:00.0: GPU requires reset\n"),
    ("gpu-count-mismatch", "$ nvidia-smi\nNo devices were found\n$ dmesg | tail -1\nNVRM: GPU 0000:41:00.0: rm_init_adapter failed, device minor number 1\n"),
    ("gpu-count-mismatch", "slurmd: error: gres/gpu count reported lower than configured (3 < 4)\n"),
    ("no-gpu", "[    6.2] NVRM: No NVIDIA PCI devices found.\nmodprobe: ERROR: could not insert 'nvidia': No such device\n"),
    ("rocm-arch-unsupported", "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1035\n"),
    ("rocm-arch-unsupported", "RuntimeError: HIP error: invalid device function\nHIP kernel errors might be asynchronously reported\n"),
    ("amd-gpu-unsupported", "Windows 11, Radeon RX 6700 XT, torch 2.4.1\nAssertionError: Torch not compiled with CUDA enabled\n"),
    ("amd-gpu-unsupported", "My card is an AMD GPU.\nRuntimeError: Found no NVIDIA driver on your system.\n"),
    ("gpu-errors-logged", "NVRM: Xid (PCI:0000:07:00): 109, pid=88, name=python3, Ch 00000018, errorString CTX SWITCH TIMEOUT\n"),
    ("gpu-fell-off-bus", "Training stopped after 3 h with XID 79 in the log\n"),
    ("ecc-hardware-error", "dcgm: Xid error: 94\n"),
    ("gsp-firmware-failure", "Xid 119 on GPU 4 of the node\n"),
    ("pcie-link-degraded", "\t\tLnkSta:\tSpeed 16GT/s, Width x4 (downgraded)\n"),
    ("row-remap-failed", "    Remapping Failure Occurred            : Yes\n"),
    ("gpu-count-mismatch", "nvidia-smi shows only 3 of 4 GPUs after the reboot\n"),
    ("gpu-fell-off-bus", "My RTX 3090: the GPU falls off the bus after an hour of training\n"),
    ("gpu-count-mismatch", "eight slots, and nvidia-smi only lists seven GPUs\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""
NEAR_MISSES: Final = (
    ("gpu-errors-logged", "NVRM: Xid (PCI:0000:07:00): 31, pid=88, name=python3, Ch 00000018, intr 00000000. MMU Fault\n"),
    ("gpu-errors-logged", "NVRM: Xid (PCI:0000:07:00): 13, pid=88, Graphics SM Warp Exception\nNVRM: Xid (PCI:0000:07:00): 45, pid=88, Ch 00000008\n"),
    ("gpu-fell-off-bus", "01:00.0 VGA compatible controller: NVIDIA Corporation AD102 [GeForce RTX 4090] (rev a1)\nAssertionError: Torch not compiled with CUDA enabled\n"),
    ("amd-gpu-unsupported", "CPU: AMD Ryzen 9 7950X\nGPU: NVIDIA GeForce RTX 4070\nAssertionError: Torch not compiled with CUDA enabled\n"),
    ("rocm-arch-unsupported", "RuntimeError: CUDA error: invalid device function\n"),
    ("power-cable-missing", "| N/A 33C P0 41W / 300W | 74MiB / 16160MiB | 0% Default |\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"),
)  # fmt: skip
"""A cause that must not be found, and a text."""
