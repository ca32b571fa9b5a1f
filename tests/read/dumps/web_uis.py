"""Start-up logs of ComfyUI, Stable Diffusion web UI and SD.Next. Written for these tests."""

from __future__ import annotations

from typing import Final

COMFY_OK: Final = """\
[START] Security scan
** ComfyUI startup time: 2024-12-18 10:10:10.123456
** Platform: Windows
** Python version: 3.12.7 (tags/v3.12.7:0b05ead, Oct  1 2024, 03:06:41) [MSC v.1941 64 bit (AMD64)]
** Python executable: D:\\ComfyUI_windows_portable\\python_embeded\\python.exe
Total VRAM 24564 MB, total RAM 65309 MB
pytorch version: 2.5.1+cu124
xformers version: 0.0.28.post3
Set vram state to: NORMAL_VRAM
Device: cuda:0 NVIDIA GeForce RTX 4090 : cudaMallocAsync
"""
SDNEXT_OK: Final = """\
19:53:25-981714 INFO     Python 3.10.6 on Linux
19:53:45-103315 INFO     Torch 2.0.1+cu118
19:53:45-113315 INFO     Torch backend: nVidia CUDA 11.8 cuDNN 8700
19:53:45-123315 INFO     Torch detected GPU: NVIDIA GeForce RTX 3060 VRAM 12288 Arch (8, 6) Cores 28
"""
COMFY_LOG: Final = """\
2024-11-02 17:23:11,725 - root - INFO - Total VRAM 16376 MB, total RAM 32608 MB
2024-11-02 17:23:11,725 - root - INFO - pytorch version: 2.4.1+cu124
2024-11-02 17:23:12,907 - root - INFO - Device: cuda:0 NVIDIA GeForce RTX 4070 Ti SUPER : cudaMallocAsync
2025-10-21T21:59:20.643944 - xformers version: 0.0.28.post1
"""
ED_OK: Final = """\
Install dir: C:\\EasyDiffusion\\
Name                       AdapterRAM DriverDate                DriverVersion
----                       ---------- ----------                -------------
AMD Radeon(TM) Graphics     536870912 20240111000000.000000-000 31.0.24002.92
NVIDIA GeForce RTX 4060 Ti 4293918720 20250612000000.000000-000 32.0.15.7680

"Easy Diffusion - v3"
torch version: 2.3.1+cu121
"""
ED: Final = """\
Install dir: C:\\EasyDiffusion\\
Name                       AdapterRAM DriverDate                DriverVersion
----                       ---------- ----------                -------------
AMD Radeon(TM) Graphics     536870912 20240111000000.000000-000 31.0.24002.92
NVIDIA GeForce RTX 5060 Ti 4293918720 20250612000000.000000-000 32.0.15.7680

"Easy Diffusion - v3"
torch version: 2.3.1+cu121
"""
COMFY_REPORT: Final = """\
## System Information
- **ComfyUI Version:** 0.3.26
- **OS:** nt
- **Python Version:** 3.12.9 (main, Feb 12 2025, 14:52:31) [MSC v.1942 64 bit (AMD64)]
- **PyTorch Version:** 2.6.0+cu126
## Devices
- **Name:** cuda:0 NVIDIA GeForce RTX 5060 Ti : cudaMallocAsync
  - **Type:** cuda
"""
A1111_CPU: Final = """\
Python 3.10.6 (tags/v3.10.6:9c7b4bd, Aug  1 2022, 21:53:49) [MSC v.1932 64 bit (AMD64)]
Version: v1.10.1
Commit hash: 82a973c04367123ae98bd9abdf80d9eda9b910e2
version: v1.10.1  •  python: 3.10.6  •  torch: 2.1.2+cpu  •  xformers: N/A  •  gradio: 3.41.2
GPU: NVIDIA GeForce RTX 3060
"""
COMFY_5090: Final = COMFY_OK.replace("RTX 4090", "RTX 5090")

HEALTHY: Final = (COMFY_OK, SDNEXT_OK, COMFY_LOG, ED_OK)
CASES: Final = (
    ("gpu-too-new-for-build", ED),
    ("gpu-too-new-for-build", COMFY_REPORT),
    ("gpu-too-new-for-build", COMFY_5090),
    ("cpu-only-build", A1111_CPU),
)
