"""A healthy A100's board, temperatures, clocks and memory beyond the fields of NvmlGpu: further lines of its scenario, by the names in nvml.c."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MIB: Final = 1 << 20
A100: Final[Mapping[str, int | str]] = {
    "vbios": "92.00.9E.00.01",
    "inforom": "G506.0212.00.01",
    "inforom_oem": "2.0",
    "inforom_ecc": "6.16",
    "board_id": 0x700,
    "part_number": "692-2G506-0212-002",
    "serial": "1324620035047",
    "gsp_enabled": 0,
    "gsp_default": 0,
    "bar1_total": 131072 * MIB,
    "bar1_used": MIB,
    "spare_rows": "640 0 0 0 0",
    "temperature_memory": 38,
    "temperature_memory_max": 95,
    "temperature_gpu_max": 85,
    "held.power": 812_000_000_000,
    "held.thermal": 0,
    "held.sync_boost": 0,
    "held.board_limit": 0,
    "held.low_utilization": 0,
    "held.reliability": 0,
    "clock_set_sm": 1410,
    "clock_set_default_sm": 1410,
    "clock_set_memory": 1593,
    "clock_set_default_memory": 1593,
    "nvlink.speed": 25_781,
    "nvlink.remote": 2,
    "ecc.memory": "0 0 0 0",
    "ecc.sram": "0 0 0 0",
}
"""It predates Hopper: no firmware of its own by default, absolute temperature limits, no rack position."""
LACKED: Final = frozenset({"retired_pages", "nvlink_version", "numa_memory", "rack"})
"""Snapshot fields that this A100 does not support: it remaps rows, reports no NVLink version, and is in no rack."""
LACKED_BY_NONE: Final[Mapping[str, int | str]] = {"nvlink_version": 4, "numa_memory": 9, "rack": "7 3 1 2 4"}
"""Facts of a card that supports these too, with `retired_pages`."""
READ_TWICE: Final = frozenset({"pcie_replays_later", "held_back_later"})
"""Snapshot fields that are read after all GPUs were described."""
