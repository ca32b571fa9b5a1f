"""Machines with a GPU that is lost, not NVIDIA's or of another model, for tests of single rules."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.snapshot import Cause, Missing, Nvml, PciDevice, Snapshot, Status
from tests.builders import libcuda, machine
from tests.diagnose.rules.asking import with_gpus

DENIED = Missing(Cause.DENIED, "only root may read it")
RADEON = PciDevice(address="0000:03:00.0", vendor="1002", device="73bf", class_code="030000", driver="amdgpu")
GIB = 1 << 30


def second_lost(**sections: Any) -> Snapshot:
    """Two GPUs; NVML and CUDA list only the first."""
    whole = with_gpus({"alarms": ()}, {})
    assert isinstance(whole.nvml, Nvml)
    assert isinstance(whole.nvml.gpus, tuple)
    nvml = msgspec.structs.replace(whole.nvml, gpus=whole.nvml.gpus[:1])
    return msgspec.structs.replace(whole, **{"nvml": nvml, "libcuda": libcuda(1), **sections})


def alarmed(code: int, text: str, **facts: Any) -> Snapshot:
    """One GPU about which a call of NVML gave an error."""
    return with_gpus({"alarms": (Status(code, text, f"nvmlDeviceGetName: {text}"),), **facts})


def refusing(code: int, text: str, gpus: int = 1) -> Snapshot:
    """GPUs about one of which NVML gave an error when it should have started."""
    nvml = Nvml(init=Status(code, text, text), gpus=Missing(Cause.FAILED, f"nvmlInit answered {code}"))
    return machine(gpus, nvml=nvml, libcuda=libcuda(0, 100, "CUDA_ERROR_NO_DEVICE"))
