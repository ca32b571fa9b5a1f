"""Containers, jobs and WSL machines for tests of single rules."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.snapshot import Allocation, Cause, Container, ContainerTools, DeviceNodes, Host, Missing, Node, Nvml, Platform, Status, Wsl
from tests.builders import ABSENT, libcuda

DOCKER = Container("docker", "/.dockerenv", driver_files=(), control="opened")
UNKNOWN = Nvml(init=Status(999, "NVML_ERROR_UNKNOWN", "Unknown Error"), gpus=Missing(Cause.FAILED, "nvmlInit"))
REFUSED = libcuda(0, 100, "CUDA_ERROR_NO_DEVICE")
WINDOWS = Wsl(device=True, libraries=("libcuda.so.1", "libnvidia-ml.so.1"), packages=ABSENT, loader_conf=ABSENT, memory=16 << 30)
ON_WSL = Host(platform=Platform.WSL2, kernel="5.15.1-microsoft-standard-WSL2", uid=1000)
SLURM = Allocation("Slurm", "SLURM_JOB_ID", (), "neither is set", constrained=True)
ENGINES = ContainerTools(engines=("docker",), toolkit=("/usr/bin/nvidia-ctk",), cdi=(), cdi_asked_by=())


def change(thing: Any, **fields: Any) -> Any:
    """A copy with other fields."""
    return msgspec.structs.replace(thing, **fields)


def nodes(*, accessible: bool, mode: str = "0666") -> DeviceNodes:
    """Device files of two GPUs, open to everybody by their permissions."""
    control = Node("/dev/nvidiactl", mode=mode, uid=0, gid=0, major=195, minor=255, accessible=mode == "0666")
    gpus = (Node(f"/dev/nvidia{n}", mode=mode, uid=0, gid=0, major=195, minor=n, accessible=accessible) for n in range(2))
    return DeviceNodes((control, *gpus))
