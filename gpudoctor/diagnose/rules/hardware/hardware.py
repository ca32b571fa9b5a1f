"""GD1: the GPU and its slot."""

from __future__ import annotations

from gpudoctor.derive import Gpu
from gpudoctor.diagnose.advice.system import power_cycle, read_log
from gpudoctor.findings import Fix, FixKind
from gpudoctor.snapshot import PciDevice


def _kernel_says(gpu: Gpu) -> Fix:
    return read_log(f"NVRM|Xid|{gpu.key.removeprefix('0000:')}", "Read what the kernel says of this GPU")


def _back(gpu: Gpu) -> tuple[Fix, ...]:
    """How a GPU that stopped answering mostly comes back, after what the kernel said of it is kept."""
    return _kernel_says(gpu), power_cycle(), _SUSPECTS


_SUSPECTS = Fix("Move the card to another slot, replace riser and power cables; then replace the card.", kind=FixKind.ELSE)


def _holder(device: PciDevice) -> str:
    return device.driver if isinstance(device.driver, str) else f"none ({device.driver.reason})"
