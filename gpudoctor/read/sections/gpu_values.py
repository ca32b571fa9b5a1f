"""What nvidia-smi's words for a GPU's values mean in a Snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from gpudoctor.expressions import expression
from gpudoctor.read.sections.statement_index import NOT_STATED
from gpudoctor.snapshot import Cause, Missing

_NUMBER_FORM = expression(r"\d+(?:\.\d+)?")
_UNSUPPORTED_VALUE = expression(r"\[?(?:N/A|Not Supported|Not Available)\]?", re.IGNORECASE)
FAILED_VALUE = expression(r"\[?(?:ERR!|Unknown Error|Unknown!?)\]?")
LOST_GPU = expression(r"\[?GPU is lost")
_ANSWER_WORDS = {
    "on": True, "off": False, "enabled": True, "disabled": False, "yes": True, "no": False,
    "wddm": False, "tcc": False, "mcdm": False,
}  # fmt: skip
_COMPUTE_MODES = {
    "default": "default",
    "e. process": "exclusive-process",
    "e.process": "exclusive-process",
    "exclusive_process": "exclusive-process",
    "e. thread": "exclusive-thread",
    "e.thread": "exclusive-thread",
    "exclusive_thread": "exclusive-thread",
    "prohibited": "prohibited",
}
_VIRTUALIZATION_MODES = {"none": "none", "pass-through": "passthrough", "vgpu": "vgpu", "host vgpu": "host-vgpu", "host vsga": "host-vsga"}
_CLOCK_REASON_BITS = {
    "idle": 0x1, "gpu_idle": 0x1, "applications_clocks_setting": 0x2, "sw_power_cap": 0x4, "hw_slowdown": 0x8, "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20, "hw_thermal_slowdown": 0x40, "hw_power_brake_slowdown": 0x80, "display_clock_setting": 0x100,
    "display_clocks_setting": 0x100,
}  # fmt: skip
"""nvml.h, nvmlClocksEventReason*."""


def _number_parser(scale: float = 1) -> Callable[[str], int | None]:
    def parse(text: str) -> int | None:
        found = _NUMBER_FORM.search(text)
        return round(float(found[0]) * scale) if found else None

    return parse


def _word_parser(words: dict[str, Any]) -> Callable[[str], Any]:
    return lambda text: words.get(text.strip("[]*").lower())


PARSE_MIB = _number_parser(1 << 20)
PARSE_COUNT = _number_parser()
PARSE_ANSWER = _word_parser(_ANSWER_WORDS)
_PARSE_WATTS = _number_parser(1000)

FIELD_BY_FACT: dict[str, tuple[str, Callable[[str], Any]]] = {
    "uuid": ("uuid", str),
    "minor": ("minor", PARSE_COUNT),
    "memory total": ("memory_total", PARSE_MIB),
    "memory used": ("memory_used", PARSE_MIB),
    "memory reserved": ("memory_reserved", PARSE_MIB),
    "mig mode": ("mig_enabled", PARSE_ANSWER),
    "mig pending": ("mig_pending", PARSE_ANSWER),
    "ecc mode": ("ecc_enabled", PARSE_ANSWER),
    "ecc pending": ("ecc_pending", PARSE_ANSWER),
    "ecc": ("ecc_uncorrected", PARSE_COUNT),
    "ecc total": ("ecc_uncorrected_total", PARSE_COUNT),
    "compute mode": ("compute_mode", _word_parser(_COMPUTE_MODES)),
    "persistence": ("persistence", PARSE_ANSWER),
    "virtualization": ("virtualization", _word_parser(_VIRTUALIZATION_MODES)),
    "performance state": ("performance_state", PARSE_COUNT),
    "utilization": ("utilization", PARSE_COUNT),
    "temperature": ("temperature", PARSE_COUNT),
    "temperature slowdown": ("temperature_slowdown", PARSE_COUNT),
    "temperature shutdown": ("temperature_shutdown", PARSE_COUNT),
    "power": ("power", _PARSE_WATTS),
    "power limit": ("power_limit", _PARSE_WATTS),
    "power limit default": ("power_limit_default", _PARSE_WATTS),
    "link generation": ("link_generation", PARSE_COUNT),
    "link generation max": ("link_generation_max", PARSE_COUNT),
    "link generation own": ("link_generation_own", PARSE_COUNT),
    "link width": ("link_width", PARSE_COUNT),
    "link width max": ("link_width_max", PARSE_COUNT),
}
"""The fields of an NvmlGpu, by the keys of the statements about it, and how their values are read."""
SENSOR_FACTS = ("fan", "temperature", "performance state", "power", "power limit", "utilization")
"""What nvidia-smi's table shows of every GPU that answers, or N/A."""
MEMORY_FACTS = ("memory used", "memory free", "memory reserved")
"""What changes from one moment to the next, as the sensors do."""


def parsed_value(text: str, parse: Callable[[str], Any]) -> Any:
    """Return a value, or why nvidia-smi shows none."""
    if LOST_GPU.match(text):
        return Missing(Cause.LOST, text.strip("[]"))
    if FAILED_VALUE.fullmatch(text):
        return Missing(Cause.FAILED, f"nvidia-smi shows {text}")
    if _UNSUPPORTED_VALUE.fullmatch(text):
        return Missing(Cause.UNSUPPORTED, f"nvidia-smi shows {text}")
    value = parse(text)
    return NOT_STATED if value is None else value


def clock_reason_bits(stated: Iterable[tuple[str, str]]) -> int:
    """Return the clock's reasons as NVML's bits, of the names and states that nvidia-smi shows."""
    return sum({_CLOCK_REASON_BITS.get(name, 0) for name, state in stated if state == "Active"})


FABRIC_HEALTH = {
    0: "fabric health bandwidth",
    2: "fabric health route recovery",
    4: "fabric health route unhealthy",
    6: "fabric health access timeout",
}
"""Where NVML's health mask has what nvidia-smi prints of a fabric: nvml.h, NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_*."""
CONFIGURATION_SHIFT = 8
FABRIC_ANSWERS = {"Degraded": 1, "True": 1, "Full": 2, "False": 2}
_CONFIGURATION_CODES = {"guid": 2, "chassis": 3, "partition": 4, "nvlink": 5, "f(?:irm)?w": 6, "location": 7, "state": 8}
"""A word of each of NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_*, and its code."""
_CORRECT_CONFIGURATION = 1


def configuration_fault_code(text: str) -> int:
    """Return NVML's code for what nvidia-smi calls a fabric's incorrect configuration; 0 where it does not say."""
    if text == "None":
        return _CORRECT_CONFIGURATION
    return next((code for word, code in _CONFIGURATION_CODES.items() if re.search(word, text.lower())), 0)
