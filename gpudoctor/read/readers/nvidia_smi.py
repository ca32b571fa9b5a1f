"""Reads what `nvidia-smi` prints: its table and its error messages, https://docs.nvidia.com/deploy/nvidia-smi/."""

from __future__ import annotations

from gpudoctor.read.readers.reader import VERSION, Form, Reader

READER = Reader(
    "nvidia-smi",
    forms=(
        Form("driver", rf"(?:\b[Dd]river [Vv]ersion|\bDRIVER version|\bKMD Version)\s*: *{VERSION}"),
        Form("cuda served", rf"CUDA (?:UMD )?Version\s*: *{VERSION}"),
        Form(
            "nvml error",
            r"(?P<value>Failed to initialize NVML: [^\n]{3,80}|NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver)",
        ),
        Form("libraries", rf"NVML library version: {VERSION}"),
    ),
)
