"""Names of users and hosts that identify nobody and mean other things in a report."""

from __future__ import annotations

import re

_COMMON_WORDS = (
    "root user admin ubuntu debian centos fedora rhel ec2-user azureuser vagrant docker jovyan jupyter nobody daemon bin lib lib64"
    " share local opt src home data test app work workspace localhost host server node machine container linux kernel driver wsl box"
    " vm instance pod job cluster worker master login"
    " pci nvml gpu cuda cudnn nvidia python python3 conda venv env torch pytorch tensorflow jax keras ray slurm"
    " vllm sglang ollama triton llama comfyui mamba miniconda miniconda3 miniforge3 anaconda anaconda3 linuxbrew"
    " developer student username myuser appuser gpuuser runner coder vscode sagemaker-user git jenkins gitlab-runner spark"
)
COMMON_NAMES = frozenset(_COMMON_WORDS.split())
_TARGET_TRIPLE = r"(?:x86_64|amd64|i[3-6]86|aarch64|arm64|armv\w+|ppc64\w*|riscv64|sbsa|linux|darwin|windows)(?![a-z])"


def is_own_name(host: str) -> bool:
    """Return whether a word that stood in a host's place is a name, and not the machine's architecture or a word of the language."""
    return host not in COMMON_NAMES and len(host) > 3 and not re.match(_TARGET_TRIPLE, host) and re.search(r"[\d.-]", host) is not None
