"""The summary at the top of a report: GPUs, driver, frameworks and Python. Part of gpudoctor.report/1."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpudoctor.frameworks import TRAINED
from gpudoctor.schema_fields import means


class GpuModel(msgspec.Struct, frozen=True):
    """GPUs of one model with the same amount of memory."""

    model: Annotated[str, means("The product's name; empty where it is not known.", "NVIDIA A100-SXM4-80GB")]
    count: Annotated[int, means("How many there are.")]
    memory: Annotated[int | None, means("Bytes of one GPU; null where it is not known.")] = None


class FrameworkBuild(msgspec.Struct, frozen=True):
    """An installed framework and the CUDA of its build."""

    name: Annotated[str, means("Its import name.", *TRAINED)]
    version: Annotated[str | None, means("With its local part; null where it is not known.", "2.8.0+cu126")] = None
    cuda: Annotated[str | None, means("Empty: built without CUDA; null: not known.", "12.5.1")] = None
    cudnn: Annotated[str | None, means("The cuDNN it was built with; null where it is not known.", "9.3.0")] = None
    rocm: Annotated[bool, means("Whether it is built for ROCm.")] = False


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The machine and the Python environment at a glance. Null: not known; empty: looked for, and not there."""

    gpus: Annotated[tuple[GpuModel, ...] | None, means("Every NVIDIA GPU of the machine or container, by model.")] = None
    driver: Annotated[str | None, means("The loaded NVIDIA driver; under WSL that of Windows.", "550.163.01")] = None
    cuda: Annotated[str | None, means('The newest CUDA that the driver supports, "CUDA Version" in nvidia-smi.', "12.4")] = None
    frameworks: Annotated[tuple[FrameworkBuild, ...] | None, means("Those installed in the environment.")] = None
    python: Annotated[str | None, means("The version of the examined interpreter.", "3.11.7")] = None
    environment: Annotated[str | None, means("Open: what kind of environment it is.", "venv", "conda", "system")] = None
    platform: Annotated[str | None, means("Open.", "linux", "wsl2", "jetson", "windows")] = None
    os: Annotated[str | None, means("ID and VERSION_ID of /etc/os-release.", "ubuntu 24.04")] = None
    kernel: Annotated[str | None, means("As uname -r says.", "6.8.0-45-generic")] = None
    architecture: Annotated[str | None, means("As uname -m says.", "x86_64")] = None
    container: Annotated[str | None, means("Open: the container's runtime.", "docker", "podman", "kubernetes")] = None
