"""The NVLink fabric by NVML and the PCI bus: which GPUs are attached, the state of their registration, and what is wrong."""

from __future__ import annotations

from gpudoctor import versions
from gpudoctor.derive.gpus import Gpu
from gpudoctor.snapshot import Fabric, Missing, NvmlGpu, Pci

_YES = 1
_HEALTH_FLAWS = (
    (0, 0x3, "reduced bandwidth"),
    (2, 0x3, "route recovery in progress"),
    (4, 0x3, "unhealthy route"),
    (6, 0x3, "access timeout recovery in progress"),
)
"""Shift and width of the three-valued parts of NVML's health mask (NVML_GPU_FABRIC_HEALTH_MASK_*): 1 is yes, 2 no, 0 not supported."""
_RECOVERY_SHIFTS = {2, 6}
_RECOVERIES = {words for shift, _, words in _HEALTH_FLAWS if shift in _RECOVERY_SHIFTS}
_CONFIGURATION_BITS = 8, 0xF
INCOMPATIBLE_FIRMWARE = 6
CONFIGURATIONS = {
    2: "wrong system GUID",
    3: "wrong chassis serial number",
    4: "no partition",
    5: "not enough NVLinks",
    INCOMPATIBLE_FIRMWARE: "incompatible GPU firmware",
    7: "invalid location",
    8: "invalid GPU state",
}
"""NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_*; 1 is right, 0 not supported."""
SET_ON_SWITCHES = {2, 3, 4, 7}
"""The codes whose cause is on the switches: system, chassis, partition and location."""
_NVLINK_5 = versions.parse_version("5.0")
_BLACKWELL = versions.parse_version("10.0")
_RACK_NAMES = ("GB200", "GB300")
"""In the names of GPUs whose NVSwitches, and the fabric manager, are in separate trays."""


def fabric_of(gpu: Gpu) -> Fabric | None:
    """NVML's fabric state of a GPU; None if it is not attached to a fabric, or NVML does not say."""
    state = gpu.nvml.fabric if isinstance(gpu.nvml, NvmlGpu) else None
    return state if isinstance(state, Fabric) and state.state != "not-supported" else None


def nvswitch_count(pci: Pci | Missing) -> int:
    """The number of NVSwitches on the PCI bus: NVIDIA bridges of class 0680. NVLink 5 switches are managed through InfiniBand and are not there."""
    devices = pci.devices if isinstance(pci, Pci) else ()
    return sum(device.is_nvswitch for device in devices)


def has_nvlink_5(gpu: Gpu) -> bool:
    """Whether a GPU has NVLink 5 or newer, by its active links or otherwise its generation."""
    if not isinstance(gpu.nvml, NvmlGpu):
        return False
    link = versions.parse_version(gpu.nvml.nvlink_version) if isinstance(gpu.nvml.nvlink_version, str) else None
    if link is not None and _NVLINK_5 is not None:
        return link >= _NVLINK_5
    capability = versions.parse_version(gpu.nvml.compute_capability) if isinstance(gpu.nvml.compute_capability, str) else None
    return capability is not None and _BLACKWELL is not None and capability >= _BLACKWELL


def is_in_rack(gpu: Gpu) -> bool:
    """Whether this GPU is in an NVL72 rack, whose nodes run no fabric manager."""
    return isinstance(gpu.name, str) and any(word in gpu.name for word in _RACK_NAMES)


def _health_mask(fabric: Fabric) -> int:
    return fabric.health if isinstance(fabric.health, int) else 0


def configuration_code(fabric: Fabric) -> int:
    """NVML's code for what is wrong with the configuration, a key of CONFIGURATIONS; 0 or 1 where nothing is."""
    shift, width = _CONFIGURATION_BITS
    return _health_mask(fabric) >> shift & width


def is_recovering(fabric: Fabric) -> bool:
    """Whether all that is wrong is a recovery in progress."""
    found = fabric_flaws(fabric)
    return bool(found) and set(found) <= _RECOVERIES


def fabric_flaws(fabric: Fabric) -> tuple[str, ...]:
    """What NVML says is wrong with a GPU's fabric connection; empty where nothing is, or the driver does not report it."""
    mask = _health_mask(fabric)
    found = [words for shift, width, words in _HEALTH_FLAWS if mask >> shift & width == _YES]
    wrong = configuration_code(fabric)
    if wrong > 1:
        found.append(f"incorrect configuration ({CONFIGURATIONS.get(wrong, f'code {wrong}')})")
    if not found and fabric.summary in {"unhealthy", "limited-capacity"}:
        found.append(f"health {fabric.summary}")
    if fabric.state == "completed" and fabric.status:
        found.append(f"registration failed with NVML error {fabric.status}")
    return tuple(found)
