"""Reads what `nvidia-smi` prints: its table and its error messages, https://docs.nvidia.com/deploy/nvidia-smi/."""

from __future__ import annotations

from gpudoctor.read.readers.reader import VERSION, Form, Reader

READER = Reader(
    "nvidia-smi",
    forms=(
        Form("driver", rf"Driver Version\s*: *{VERSION}"),
        Form("cuda served", rf"CUDA (?:UMD )?Version\s*: *{VERSION}"),
        Form(
            "gpu",
            r"^\|\s{1,4}(?P<name>\d{1,2})\s{1,3}(?P<value>[A-Z][^|]{4,60}?)(?:\s{2,}(?:On|Off|N/A|WDDM|TCC|MCDM)\b[^|]*|\s{3,}[^|]*|\s*)\|",
        ),
        Form("memory", r"\|[^|]{0,60}?\b(?P<value>\d{1,7}MiB\s{0,4}/\s{0,4}\d{1,7}MiB)\b"),
        Form("compute mode", r"MiB\s{0,4}/[^\n]{0,80}?\s(?P<value>E\. Process|E\. Thread|Prohibited|Default)\s{0,20}\|"),
        Form(
            "nvml error",
            r"(?P<value>Failed to initialize NVML: [^\n]{3,80}|NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver)",
        ),
        Form("libraries", rf"NVML library version: {VERSION}"),
    ),
)
