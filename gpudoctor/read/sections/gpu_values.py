"""What nvidia-smi's words for a GPU's values mean in a Snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from gpudoctor.expressions import expression
from gpudoctor.read.sections.stated import NOT_STATED
from gpudoctor.snapshot import Cause, Missing

_NUMBER = expression(r"\d+(?:\.\d+)?")
_UNSUPPORTED = expression(r"\[?(?:N/A|Not Supported|Not Available)\]?", re.IGNORECASE)
FAILED = expression(r"\[?(?:ERR!|Unknown Error|Unknown!?)\]?")
LOST = expression(r"\[?GPU is lost")
_ANSWERS = {
    "on": True, "off": False, "enabled": True, "disabled": False, "yes": True, "no": False,
    "wddm": False, "tcc": False, "mcdm": False,
}  # fmt: skip
_MODES = {
    "default": "default",
    "e. process": "exclusive-process",
    "e.process": "exclusive-process",
    "exclusive_process": "exclusive-process",
    "e. thread": "exclusive-thread",
    "e.thread": "exclusive-thread",
    "exclusive_thread": "exclusive-thread",
    "prohibited": "prohibited",
}
_VIRTUAL = {"none": "none", "pass-through": "passthrough", "vgpu": "vgpu", "host vgpu": "host-vgpu", "host vsga": "host-vsga"}
_REASONS = {
    "idle": 0x1, "gpu_idle": 0x1, "applications_clocks_setting": 0x2, "sw_power_cap": 0x4, "hw_slowdown": 0x8, "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20, "hw_thermal_slowdown": 0x40, "hw_power_brake_slowdown": 0x80, "display_clock_setting": 0x100,
    "display_clocks_setting": 0x100,
}  # fmt: skip
"""nvml.h, nvmlClocksEventReason*."""


def _number(scale: float = 1) -> Callable[[str], int | None]:
    def parse(text: str) -> int | None:
        found = _NUMBER.search(text)
        return round(float(found[0]) * scale) if found else None

    return parse


def _word(words: dict[str, Any]) -> Callable[[str], Any]:
    return lambda text: words.get(text.strip("[]*").lower())


MIB = _number(1 << 20)
COUNT = _number()
ANSWER = _word(_ANSWERS)
_WATTS = _number(1000)

FIELDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "uuid": ("uuid", str),
    "minor": ("minor", COUNT),
    "memory total": ("memory_total", MIB),
    "memory used": ("memory_used", MIB),
    "memory reserved": ("memory_reserved", MIB),
    "mig mode": ("mig_enabled", ANSWER),
    "mig pending": ("mig_pending", ANSWER),
    "ecc mode": ("ecc_enabled", ANSWER),
    "ecc pending": ("ecc_pending", ANSWER),
    "ecc": ("ecc_uncorrected", COUNT),
    "ecc total": ("ecc_uncorrected_total", COUNT),
    "compute mode": ("compute_mode", _word(_MODES)),
    "persistence": ("persistence", ANSWER),
    "virtualization": ("virtualization", _word(_VIRTUAL)),
    "performance state": ("performance_state", COUNT),
    "utilization": ("utilization", COUNT),
    "temperature": ("temperature", COUNT),
    "temperature slowdown": ("temperature_slowdown", COUNT),
    "temperature shutdown": ("temperature_shutdown", COUNT),
    "power": ("power", _WATTS),
    "power limit": ("power_limit", _WATTS),
    "power limit default": ("power_limit_default", _WATTS),
    "link generation": ("link_generation", COUNT),
    "link generation max": ("link_generation_max", COUNT),
    "link generation own": ("link_generation_own", COUNT),
    "link width": ("link_width", COUNT),
    "link width max": ("link_width_max", COUNT),
}
"""The fields of an NvmlGpu, by the keys of the statements about it, and how their values are read."""
SENSORS = ("fan", "temperature", "performance state", "power", "power limit", "utilization")
"""What nvidia-smi's table shows of every GPU that answers, or N/A."""
MEMORY = ("memory used", "memory free", "memory reserved")
"""What changes from one moment to the next, as the sensors do."""


def value_of(text: str, parse: Callable[[str], Any]) -> Any:
    """Return a value, or why nvidia-smi shows none."""
    if LOST.match(text):
        return Missing(Cause.LOST, text.strip("[]"))
    if FAILED.fullmatch(text):
        return Missing(Cause.FAILED, f"nvidia-smi shows {text}")
    if _UNSUPPORTED.fullmatch(text):
        return Missing(Cause.UNSUPPORTED, f"nvidia-smi shows {text}")
    value = parse(text)
    return NOT_STATED if value is None else value


def clock_reasons(stated: Iterable[tuple[str, str]]) -> int:
    """Return the clock's reasons as NVML's bits, of the names and states that nvidia-smi shows."""
    return sum({_REASONS.get(name, 0) for name, state in stated if state == "Active"})


FABRIC_HEALTH = {
    0: "fabric health bandwidth",
    2: "fabric health route recovery",
    4: "fabric health route unhealthy",
    6: "fabric health access timeout",
}
"""Where NVML's health mask has what nvidia-smi prints of a fabric: nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_*."""
FABRIC_CONFIGURATION = 8
FABRIC_ANSWERS = {"Degraded": 1, "True": 1, "Full": 2, "False": 2}
_CONFIGURATIONS = {"guid": 2, "chassis": 3, "partition": 4, "nvlink": 5, "f(?:irm)?w": 6, "location": 7, "state": 8}
"""A word of each of NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_*, and its code."""
_RIGHT = 1


def wrong_configuration(text: str) -> int:
    """Return NVML's code for what nvidia-smi calls a fabric's incorrect configuration; 0 where it does not say."""
    if text == "None":
        return _RIGHT
    return next((code for word, code in _CONFIGURATIONS.items() if re.search(word, text.lower())), 0)
