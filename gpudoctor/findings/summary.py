"""The summary at the top of a report: GPUs, driver, frameworks and Python. Part of gpudoctor.report/1."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpudoctor.frameworks import TRAINED


def _text(meaning: str, *examples: object) -> msgspec.Meta:
    return msgspec.Meta(description=meaning, examples=list(examples) or None)


class GpuModel(msgspec.Struct, frozen=True):
    """GPUs of one model with the same amount of memory."""

    model: Annotated[str, _text("The product's name; empty where it is not known.", "NVIDIA A100-SXM4-80GB")]
    count: Annotated[int, _text("How many there are.")]
    memory: Annotated[int | None, _text("Bytes of one GPU; null where it is not known.")] = None


class FrameworkBuild(msgspec.Struct, frozen=True):
    """An installed framework and the CUDA of its build."""

    name: Annotated[str, _text("Its import name.", *TRAINED)]
    version: Annotated[str | None, _text("With its local part; null where it is not known.", "2.8.0+cu126")] = None
    cuda: Annotated[str | None, _text("Empty: built without CUDA; null: not known.", "12.5.1")] = None
    cudnn: Annotated[str | None, _text("The cuDNN it was built with; null where it is not known.", "9.3.0")] = None
    rocm: Annotated[bool, _text("Whether it is built for ROCm.")] = False


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The machine and the Python environment at a glance. Null: not known; empty: looked for, and not there."""

    gpus: Annotated[tuple[GpuModel, ...] | None, _text("Every NVIDIA GPU of the machine or container, by model.")] = None
    driver: Annotated[str | None, _text("The loaded NVIDIA driver; under WSL that of Windows.", "550.163.01")] = None
    cuda: Annotated[str | None, _text('The newest CUDA that the driver supports, "CUDA Version" in nvidia-smi.', "12.4")] = None
    frameworks: Annotated[tuple[FrameworkBuild, ...] | None, _text("Those installed in the environment.")] = None
    python: Annotated[str | None, _text("The version of the examined interpreter.", "3.11.7")] = None
    environment: Annotated[str | None, _text("Open: what kind of environment it is.", "venv", "conda", "system")] = None
    platform: Annotated[str | None, _text("Open.", "linux", "wsl2", "jetson", "windows")] = None
    os: Annotated[str | None, _text("ID and VERSION_ID of /etc/os-release.", "ubuntu 24.04")] = None
    kernel: Annotated[str | None, _text("As uname -r says.", "6.8.0-45-generic")] = None
    architecture: Annotated[str | None, _text("As uname -m says.", "x86_64")] = None
    container: Annotated[str | None, _text("Open: the container's runtime.", "docker", "podman", "kubernetes")] = None
