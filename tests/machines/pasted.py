"""Machines that are known only from pasted text: faults that a check never meets, or seldom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpudoctor.read.texts import read_text
from gpudoctor.snapshot import Snapshot
from tests.shipped import shared_matrix

VLLM_REFUSES = """\
ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla P100-PCIE-16GB GPU has compute capability 6.0.
vLLM Version: 0.8.5
PyTorch version: 2.6.0+cu124
GPU models and configuration: GPU 0: Tesla P100-PCIE-16GB
Nvidia driver version: 550.163.01
[pip3] torch==2.6.0
[pip3] vllm==0.8.5
"""
VLLM_IN_ORDER = """\
PyTorch version: 2.6.0+cu124
OS: Ubuntu 22.04.5 LTS (x86_64)
Python version: 3.11.11 (64-bit runtime)
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA A100-SXM4-80GB
Nvidia driver version: 550.163.01
[pip3] torch==2.6.0
[pip3] vllm==0.8.5
"""
SET_TOO_LATE = """\
import os, torch
model = torch.nn.Linear(64, 64).to(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
os.environ["CUDA_VISIBLE_DEVICES"] = "3"
"""
SET_IN_TIME = """\
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "3"
import torch
print(torch.__version__)
"""
NO_TLS_LEFT = """\
OS: Ubuntu 20.04.6 LTS (x86_64)
[pip3] torch==2.1.2
ImportError: /usr/lib/x86_64-linux-gnu/libgomp.so.1: cannot allocate memory in static TLS block
"""
MKL_OF_ANOTHER_YEAR = """\
Traceback (most recent call last):
  File "fit.py", line 3, in <module>
    import torch
ImportError: /opt/conda/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent
"""
NO_REDISTRIBUTABLE = """\
OS: Microsoft Windows 11 Pro
Microsoft Visual C++ Redistributable is not installed, this may lead to the DLL load failure.
"""
PYTHON_OF_32_BITS = """\
Python 3.10.11 (tags/v3.10.11:7d4cc5a, Apr  5 2023, 00:05:38) [MSC v.1929 32 bit (Intel)] on win32
ERROR: Could not find a version that satisfies the requirement torch (from versions: none)
"""
TAKEN_BY_DESIGN = """\
Driver: 550.163.01
TensorFlow takes nearly all memory of my GPU as soon as it starts.
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.163.01             Driver Version: 550.163.01     CUDA Version: 12.4     |
|   0  NVIDIA RTX A6000               Off |   00000000:41:00.0 Off |                  Off |
| 30%   38C    P2             76W /  300W |   46810MiB /  49140MiB |      0%      Default |
|    0   N/A  N/A      4711      C   python3                                   46802MiB |
"""
WITHOUT_ITS_CUDA_PART = """\
OS: Microsoft Windows 10 Home
bitsandbytes==0.35.0
CUDA SETUP: Loading binary C:\\venv\\Lib\\site-packages\\bitsandbytes\\libbitsandbytes_cpu.so...
TypeError: argument of type 'WindowsPath' is not iterable
"""


def text(pasted: str) -> Callable[[Snapshot], Snapshot]:
    """Return a change that puts what a text states in place of the recorded machine."""
    return lambda _: read_text(pasted.encode(), "pasted.txt", shared_matrix(), "2026-11-22T00:00:00Z")


CASES: dict[str, dict[str, Any]] = {
    "pasted-vllm-refuses-the-gpu": {
        "about": "vLLM's error on a GPU that is older than it supports",
        "base": "healthy-one",
        "change": text(VLLM_REFUSES),
        "level": None,
        "verdict": "broken",
        "roots": ("gpu-below-framework-minimum",),
        "folded": ("gpu-lacks-bf16",),
        "notes": ("gpu-lacks-bf16", "gpu-too-old-for-triton"),
    },
    "pasted-vllm-in-order": {
        "about": "vLLM's environment on an A100: a text proves no training",
        "base": "healthy-one",
        "change": text(VLLM_IN_ORDER),
        "level": None,
        "verdict": "unknown",
    },
    "pasted-devices-set-too-late": {
        "about": "a program that sets CUDA_VISIBLE_DEVICES after it used CUDA",
        "base": "healthy-one",
        "change": text(SET_TOO_LATE),
        "level": None,
        "verdict": "unknown",
        "roots": ("cuda-visible-devices-set-too-late",),
    },
    "pasted-devices-set-in-time": {
        "about": "a program that sets CUDA_VISIBLE_DEVICES before it imports a framework",
        "base": "healthy-one",
        "change": text(SET_IN_TIME),
        "level": None,
        "verdict": "unknown",
    },
    "pasted-import-without-tls": {
        "about": "torch cannot be imported: the loader has no static TLS left",
        "base": "healthy-one",
        "change": text(NO_TLS_LEFT),
        "level": None,
        "verdict": "broken",
        "roots": ("framework-import-fails",),
    },
    "pasted-mkl-of-another-year": {
        "about": "torch cannot be imported with the installed MKL",
        "base": "healthy-one",
        "change": text(MKL_OF_ANOTHER_YEAR),
        "level": None,
        "verdict": "broken",
        "roots": ("mkl-version-incompatible",),
    },
    "pasted-no-redistributable": {
        "about": "torch says on Windows that the redistributable is missing",
        "base": "healthy-one",
        "change": text(NO_REDISTRIBUTABLE),
        "level": None,
        "verdict": "broken",
        "roots": ("msvc-redistributable-missing",),
    },
    "pasted-python-of-32-bits": {
        "about": "pip finds no torch for a 32-bit Python on Windows",
        "base": "healthy-one",
        "change": text(PYTHON_OF_32_BITS),
        "level": None,
        "verdict": "broken",
        "roots": ("python-32bit",),
        "folded": ("python-version-unsupported",),
    },
    "pasted-memory-taken-by-design": {
        "about": "TensorFlow holds nearly all memory and nothing else needs it",
        "base": "healthy-one",
        "change": text(TAKEN_BY_DESIGN),
        "level": None,
        "verdict": "unknown",
        "roots": ("gpu-memory-preallocation",),
        "notes": ("ecc-disabled",),
    },
    "pasted-bitsandbytes-for-linux": {
        "about": "bitsandbytes on Windows when its wheel held Linux libraries only",
        "base": "healthy-one",
        "change": text(WITHOUT_ITS_CUDA_PART),
        "level": None,
        "verdict": "broken",
        "roots": ("broken-release",),
    },
}
