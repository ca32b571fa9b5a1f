"""A loaded kernel driver whose CUDA fails."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.snapshot import Fact, KernelDriver, Major, ProcGpu, Snapshot
from tests.builders import address, libcuda, machine


def kernel_driver(**facts: Any) -> KernelDriver:
    """The driver of one GPU, with nvidia_uvm."""
    whole = KernelDriver(
        version=Fact("550.163.01", "/proc"),
        modules=("nvidia", "nvidia_uvm"),
        gpus=(ProcGpu(address(0), minor=0),),
        majors=(Major("nvidia", 195), Major("nvidia-uvm", 507)),
    )
    return msgspec.structs.replace(whole, **facts)


def failing(code: int = 999, **sections: Any) -> Snapshot:
    """A machine on which cuInit answers `code` and NVML works."""
    return machine(1, libcuda=libcuda(0, code, f"CUDA_ERROR_{code}"), **sections)
