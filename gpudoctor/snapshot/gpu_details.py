"""NVML's details on a GPU: board and firmware, temperatures, clocks, what throttled it, where its memory failed.

Some are for support tickets only. Memory is in bytes, temperature in degrees Celsius, clocks in MHz, times in nanoseconds.
"""

from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed


class GpuBoard(Observed, frozen=True):
    """The board and its firmware, needed for a warranty claim."""

    vbios: str | Missing = NOT_ASKED
    inforom: str | Missing = NOT_ASKED
    """Version of the infoROM's image; `inforom_oem`, `inforom_ecc` and `inforom_power` are those of its objects."""
    inforom_oem: str | Missing = NOT_ASKED
    inforom_ecc: str | Missing = NOT_ASKED
    inforom_power: str | Missing = NOT_ASKED
    board_id: int | Missing = NOT_ASKED
    """The same for all GPUs of one board."""
    part_number: str | Missing = NOT_ASKED
    serial: str | Missing = NOT_ASKED
    """Only with --identify."""
    gsp_firmware: str | Missing = NOT_ASKED
    """Version of the firmware that the GPU's system processor (GSP) runs."""
    gsp_enabled: bool | Missing = NOT_ASKED
    gsp_default: bool | Missing = NOT_ASKED
    """Whether this GPU uses it by default."""


class Bar1(Observed, frozen=True):
    """The window through which the CPU and other devices access the GPU's memory."""

    total: int
    used: int


class Heat(Observed, frozen=True):
    """Temperatures other than the GPU core's, and their limits.

    Newer GPUs report limits as T.Limit: degrees that `margin` must keep. It falls as the GPU warms up, and each `tlimit` is the margin at
    which that limit is reached, usually zero or a few degrees below.
    """

    memory: int | Missing = NOT_ASKED
    memory_limit: int | Missing = NOT_ASKED
    """Where the driver slows the clocks because of the memory."""
    gpu_limit: int | Missing = NOT_ASKED
    """Where the driver may hold the GPU below its base clock."""
    margin: int | Missing = NOT_ASKED
    """Degrees left until the nearest slowdown (nvmlDeviceGetMarginTemperature)."""
    shutdown_tlimit: int | Missing = NOT_ASKED
    slowdown_tlimit: int | Missing = NOT_ASKED
    memory_tlimit: int | Missing = NOT_ASKED
    gpu_tlimit: int | Missing = NOT_ASKED


class HeldBack(Observed, frozen=True):
    """How long clocks were throttled since the driver was loaded, by reason."""

    power: int | Missing = NOT_ASKED
    """The power limit, as under every full load."""
    thermal: int | Missing = NOT_ASKED
    """Heat, by driver or hardware."""
    sync_boost: int | Missing = NOT_ASKED
    board_limit: int | Missing = NOT_ASKED
    low_utilization: int | Missing = NOT_ASKED
    reliability: int | Missing = NOT_ASKED
    thermal_by_driver: int | Missing = NOT_ASKED
    """Newer drivers separate the reasons, as do `thermal_by_hardware` and `power_brake`, which halve the clocks or worse."""
    thermal_by_hardware: int | Missing = NOT_ASKED
    power_brake: int | Missing = NOT_ASKED


class SpareRows(Observed, frozen=True):
    """How many memory banks have how many spare rows left (nvmlDeviceGetRowRemapperHistogram)."""

    max: int
    """All of them."""
    high: int
    partial: int
    low: int
    none: int


class EccPlace(Observed, frozen=True):
    """Memory errors of one part of the GPU, since the driver was loaded and over the GPU's lifetime."""

    place: str
    """l1, l2, memory, registers, texture, cbu or sram."""
    corrected: int | Missing = NOT_ASKED
    uncorrected: int | Missing = NOT_ASKED
    corrected_total: int | Missing = NOT_ASKED
    uncorrected_total: int | Missing = NOT_ASKED


class ApplicationClocks(Observed, frozen=True):
    """The application clocks that were set, and their defaults."""

    sm: int | Missing = NOT_ASKED
    sm_default: int | Missing = NOT_ASKED
    memory: int | Missing = NOT_ASKED
    memory_default: int | Missing = NOT_ASKED


class RackPlace(Observed, frozen=True):
    """The position of this GPU in a rack (nvmlDeviceGetPlatformInfo, since Blackwell)."""

    slot: int
    tray: int
    host: int
    """Index of the machine in its slot."""
    module: int
    """Number of the GPU in the machine."""
    peer: int
    """How its NVLink peers are connected, in the platform's own code."""
    chassis_serial: str | Missing = NOT_ASKED
    """Only with --identify."""
