"""The line that sums a machine up."""

# ruff: noqa: RUF001 -- a cross counts
from __future__ import annotations

import pytest

from gpudoctor.findings.summary import FrameworkBuild, GpuModel, Summary
from gpudoctor.report.summary import summary_parts
from tests.machines.diagnoses import diagnosis

LINES = {
    "healthy-eight": "8 × NVIDIA A100-SXM4-80GB · driver 550.163.01 (CUDA 12.4) · tensorflow 2.18.0 (CUDA 12.5, cuDNN 9) · Python 3.11 (venv)",
    "two-models": "1 × NVIDIA A100-SXM4-80GB, 1 × Tesla T4 · driver 550.163.01 (CUDA 12.4) · tensorflow 2.18.0 (CUDA 12.5, cuDNN 9) · Python 3.11 (venv)",
    "driver-not-loaded": "1 × NVIDIA GPU · no NVIDIA driver loaded · tensorflow 2.18.0 (CUDA 12.5, cuDNN 9) · Python 3.11 (venv)",
    "radeon-with-rocm-build": "no NVIDIA GPU · no NVIDIA driver loaded · torch 2.6.0+rocm6.2.4 (ROCm) · Python 3.11 (venv)",
    "node-alone": "8 × NVIDIA A100-SXM4-80GB · driver 550.163.01 (CUDA 12.4)",
    "wsl-without-dxg": "tensorflow 2.18.0 (CUDA 12.5, cuDNN 9) · Python 3.11 (venv) · WSL 2",
}


@pytest.mark.parametrize("name", LINES)
def test_line(name: str) -> None:
    assert " · ".join(summary_parts(diagnosis(name).summary)) == LINES[name]


def test_unknown_facts_are_left_out() -> None:
    assert summary_parts(Summary()) == []
    assert summary_parts(Summary(gpus=(GpuModel("", 2),), frameworks=(FrameworkBuild("torch"),), container="docker")) == [
        "2 × NVIDIA GPU",
        "torch",
        "in docker",
    ]
    assert summary_parts(Summary(driver="535.104.05", frameworks=(FrameworkBuild("jax", "0.5.3", "12"),))) == [
        "driver 535.104.05",
        "jax 0.5.3 (CUDA 12)",
    ]
