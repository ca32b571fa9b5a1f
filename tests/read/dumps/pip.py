"""Lists by pip, and prose that names versions. Written for these tests."""

from __future__ import annotations

from typing import Final

PROSE: Final = """\
It works with torch 2.6, fails with 2.7 on the same box.
Maybe install tensorflow 2.10.0 instead of 2.11.0?
I think torchvision 0.15 requires torch 2.0.
numpy 2.0.0 is out since June and breaks things.
torch 2.1.0 was the last that worked for me
PyTorch version: 2.3.0+cu121
"""
WIN_PROSE: Final = """\
OS: Windows 11
Python version: 3.11
torch version: 2.4.0
GPU: RTX 4060
"""
WIN_PIP_CPU: Final = """\
torch                     2.4.0
torchvision               0.19.0
OS: Windows 11
GPU: RTX 4060
"""
PIP_INSTALL: Final = """\
Requirement already satisfied: torchvision in ./venv/lib/python3.10/site-packages (0.15.2)
Collecting torch==2.3.0
Installing collected packages: torch
Successfully installed nvidia-cublas-cu12-12.1.3.1 torch-2.3.0 triton-2.3.0
"""
FREEZE_FILE: Final = """\
numpy @ file:///build/numpy/dist/numpy-1.26.4-cp311-cp311-linux_x86_64.whl#sha256=d8cd837ed43e87f77e6efaa08e8de927ca030a1c9c5d04624432d6fb9a74a5ee
torch @ https://download.pytorch.org/whl/cpu/torch-2.2.2%2Bcpu-cp311-cp311-linux_x86_64.whl#sha256=02c4fac3c964e73f5f49003e0060c697f73b67c10cc23f51c592facb29e1bd53
GPU 0: NVIDIA L40S
"""
PYTABLE_EDITABLE: Final = """\
Package            Version      Editable project location
------------------ ------------ -------------------------------
mylib              0.3.0        /home/u/src/mylib
numpy              1.26.4
torch              2.4.0+cu121
torchvision        0.15.2
"""
PROTOBUF: Final = """\
tensorflow                   2.9.1
protobuf                     4.21.1
numpy                        1.22.4
"""

HEALTHY: Final = (PROSE, WIN_PROSE)
CASES: Final = (
    ("cpu-only-build", WIN_PIP_CPU),
    ("torch-torchvision-mismatch", PIP_INSTALL),
    ("cpu-only-build", FREEZE_FILE),
    ("torch-torchvision-mismatch", PYTABLE_EDITABLE),
    ("protobuf-mismatch", PROTOBUF),
)
