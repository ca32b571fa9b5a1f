"""The driver's error codes (Xids) that rules check by name, from NVIDIA's catalogue."""

from __future__ import annotations

NO_POWER, OFF_THE_BUS = 54, 79
ROW_REMAPPED, ROW_REMAP_FAILED = 63, 64
UNCORRECTABLE_ERRORS = (48, 94, 95)
"""A double-bit error, an uncorrectable error contained to one program, and one that was not."""
GSP_FAILURES = (119, 120)
"""The GPU's firmware timed out, or failed."""
NVLINK_ERRORS = (74, *range(144, 151))
"""An NVLink error, of links before NVLink 5 and from it on."""
NAMED_XIDS = {NO_POWER, OFF_THE_BUS, ROW_REMAPPED, ROW_REMAP_FAILED, *UNCORRECTABLE_ERRORS, *GSP_FAILURES, *NVLINK_ERRORS}
"""All of these."""
