"""The states of table.py as answers of our libnvidia-ml: lines of its scenario, by the names in nvml.c."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import pynvml

from gpudoctor.snapshot import Missing
from tests.states.table import State

Lines: TypeAlias = Mapping[str, int | str]
Form: TypeAlias = str | Callable[[Any], Lines]
"""The name of the one line that holds the value, or a function of the value; a name before a colon is that of the whole library."""
MIB: Final = 1 << 20
LINK, MIG = "nvlink.0.", "mig.0."
LICENCE: Final[Lines] = {"licence_product": "NVIDIA Virtual Compute Server", "licence_state": 1, "licence_seconds": 9_000_000}
PAGES: Final[Lines] = {"retired_single": 0, "retired_double": 0, "retired_pages_pending": 0}
NVLINK_4: Final[Lines] = {"nvlink_version": 6}
INSTANCE: Final[Lines] = {f"{MIG}uuid": "MIG-5d1a2b3c-0000-5000-8000-000000000001", f"{MIG}name": "MIG 1g.23gb", f"{MIG}memory_total": 9728 * MIB,
                   f"{MIG}gpu_instance": 7, f"{MIG}compute_instance": 0, "mig_most": 7}  # fmt: skip
FULL: Final[Lines] = {"memory_total": 179 << 30, "memory_used": (179 << 30) - (616 + 1) * MIB}
"""A B200 with one MiB left beside the driver's 616."""


NAMED: Final = {"reset": "GPU_RESET", "reboot": "NODE_REBOOT", "disabled": "DISABLED_BY_REGKEY"}
"""Words that differ from NVML's names."""


def word(name: str, enumeration: str) -> Callable[[Any], Lines]:
    """Return the form of a word for which NVML has a number, by the names of its header."""

    def number(value: str) -> Lines:
        if value.startswith("code "):
            return {name: value.removeprefix("code ")}
        return {name: getattr(pynvml, f"NVML_{enumeration}_{NAMED.get(value) or value.upper().replace('-', '_')}")}

    return number


def call(function: str) -> Callable[[Any], Lines]:
    """Return the form of a value that is what a call returns; a missing value is that of a lost GPU."""
    return lambda code: {f"call.{function}": f"return {15 if isinstance(code, Missing) else code}"}


def place(*lines: str, **beside: int | str) -> Callable[[Any], Lines]:
    """Return the form of a value that stands among others in its line, as "spare_rows=640 0 0 0 {}"."""
    return lambda value: {**beside, **{name: text.format(value) for name, _, text in (line.partition("=") for line in lines)}}


def grows(name: str) -> Callable[[Any], Lines]:
    """Return the form of a counter that grows while we look."""
    return lambda _: {name: "0+"}


def with_lines(name: str, beside: Lines) -> Callable[[Any], Lines]:
    """Return the form of a value that other lines go with."""
    return lambda value: {**beside, name: value}


FORMS: Final[Mapping[str, Form]] = {
    "gpus.*.alarms.*.code": call("nvmlDeviceGetName"),
    "gpus.*.address": call("nvmlDeviceGetPciInfo"),
    "gpus.*.name": lambda value: call("nvmlDeviceGetName")(value) if isinstance(value, Missing) else {"name": value},
    "gpus.*.refusals.times": lambda _: {"call.*": "return 999", "call.nvmlDeviceGetHandleByIndex": "ok", "call.nvmlDeviceGetPciInfo": "ok"},
    "gpus.*.refusals.code": lambda _: {},
    "gpus.*.recovery_action": word("recovery_action", "GPU_RECOVERY_ACTION"),
    "gpus.*.ecc_enabled": "ecc_current",
    "gpus.*.ecc_pending": "ecc_pending",
    **{f"gpus.*.{name}": name for name in ("ecc_corrected", "ecc_corrected_total", "ecc_uncorrected", "ecc_uncorrected_total")},
    "gpus.*.sram.threshold_exceeded": "sram_threshold",
    "gpus.*.sram.uncorrected_total": "sram_uncorrected",
    "gpus.*.retired_pages.pending": with_lines("retired_pages_pending", PAGES),
    "gpus.*.retired_pages.single_bit": with_lines("retired_single", PAGES),
    "gpus.*.retired_pages.double_bit": with_lines("retired_double", PAGES),
    "gpus.*.remapped_rows.pending": "remapped_pending",
    "gpus.*.remapped_rows.failed": "remapped_failed",
    "gpus.*.remapped_rows.correctable": "remapped_corrected",
    "gpus.*.remapped_rows.uncorrectable": "remapped_uncorrected",
    "gpus.*.spare_rows.none": place("spare_rows=640 0 0 0 {}"),
    "gpus.*.spare_rows.low": place("spare_rows=640 0 0 {} 0"),
    "gpus.*.spare_rows.partial": place("spare_rows=640 0 {} 0 0"),
    "gpus.*.ecc_places.*.corrected": place("ecc.memory={} 0 0 0"),
    "gpus.*.ecc_places.*.uncorrected": place("ecc.memory=0 {} 0 0"),
    "gpus.*.ecc_places.*.corrected_total": place("ecc.memory=0 0 {} 0"),
    "gpus.*.ecc_places.*.uncorrected_total": place("ecc.memory=0 0 0 {}"),
    "gpus.*.compute_mode": word("compute_mode", "COMPUTEMODE"),
    "gpus.*.persistence": "persistence",
    "gpus.*.mig_enabled": "mig_current",
    "gpus.*.mig_pending": "mig_pending",
    "gpus.*.mig_instances.*.place": lambda _: INSTANCE,
    "gpus.*.virtualization": word("virtualization", "GPU_VIRTUALIZATION_MODE"),
    "gpus.*.licences.*.licensed": with_lines("licence_state", LICENCE),
    "gpus.*.licences.*.enabled": with_lines("licence_enabled", LICENCE),
    "gpus.*.licences.*.seconds_left": with_lines("licence_seconds", LICENCE),
    "gpus.*.memory_free": lambda _: FULL,
    "gpus.*.memory_used": lambda _: FULL,
    "gpus.*.memory_total": "memory_total",
    "gpus.*.memory_reserved": "memory_reserved",
    "gpus.*.compute_processes": lambda value: {"compute_processes": " ".join(f"{one.pid}:{one.memory}" for one in value)},
    # speed
    "gpus.*.link_width": "pcie_width",
    "gpus.*.link_width_max": "pcie_width_max",
    "gpus.*.link_generation": "pcie_gen",
    "gpus.*.link_generation_max": "pcie_gen_max",
    "gpus.*.link_generation_own": "pcie_gen_own",
    "gpus.*.pcie_replays": "pcie_replays",
    "gpus.*.pcie_replays_later": lambda value: {"pcie_replays": "0+" if value == 3 else value},
    "gpus.*.clocks_event_reasons": "clocks_event_reasons",
    "gpus.*.performance_state": "pstate",
    "gpus.*.utilization": "utilization_gpu",
    "gpus.*.clock_sm": "clock_sm",
    "gpus.*.clock_sm_max": "clock_max_sm",
    "gpus.*.clock_memory": "clock_memory",
    "gpus.*.clock_memory_max": "clock_max_memory",
    "gpus.*.application_clocks.sm": "clock_set_sm",
    "gpus.*.application_clocks.memory": "clock_set_memory",
    "gpus.*.temperature": "temperature",
    "gpus.*.temperature_slowdown": "temperature_slowdown",
    "gpus.*.temperature_shutdown": "temperature_shutdown",
    "gpus.*.heat.memory": "temperature_memory",
    "gpus.*.heat.margin": "temperature_margin",
    **{f"gpus.*.heat.{name}_tlimit": f"tlimit_{name}" for name in ("gpu", "slowdown", "shutdown")},
    "gpus.*.heat.memory_limit": "temperature_memory_max",
    "gpus.*.heat.gpu_limit": "temperature_gpu_max",
    "gpus.*.power": "power_usage",
    "gpus.*.power_limit": "power_limit",
    **{
        path: form
        for name in ("thermal_by_hardware", "power_brake", "board_limit", "thermal", "thermal_by_driver", "power", "sync_boost", "low_utilization", "reliability")
        for path, form in ((f"gpus.*.held_back_later.{name}", grows(f"held.{name}")), (f"gpus.*.held_back.{name}", lambda _: {}))
    },
    "gpus.*.bar1.total": "bar1_total",
    "gpus.*.bar1.used": "bar1_used",
    # several GPUs
    "gpus.*.nvlinks": lambda _: {"nvlinks": ""},
    "gpus.*.nvlinks.*.active": lambda value: call("nvmlDeviceGetNvLinkState")(value) if isinstance(value, Missing) else {"nvlinks": f"{int(value)}{'1' * 17}"},
    **{f"gpus.*.nvlinks.*.{name}": with_lines(f"{LINK}{name}", NVLINK_4) for name in ("crc_errors", "replays", "recoveries")},
    "gpus.*.nvlinks.*.grown.*.count": grows(f"{LINK}rcv_errors"),
    "gpus.*.nvlinks.*.errors.*.name": lambda name: {f"{LINK}{name}": 1},
    "gpus.*.nvlinks.*.errors.*.count": lambda value: {f"{LINK}rcv_errors": value},
    "gpus.*.nvlinks.*.speed": f"{LINK}speed",
    "gpus.*.nvlinks.*.remote": lambda _: {f"{LINK}remote": 255},
    "gpus.*.nvlink_version": lambda _: NVLINK_4,
    "gpus.*.fabric.state": word("fabric_state", "GPU_FABRIC_STATE"),
    "gpus.*.fabric.status": "fabric_status",
    "gpus.*.fabric.summary": word("fabric_summary", "GPU_FABRIC_HEALTH_SUMMARY"),
    "gpus.*.fabric.health": "fabric_health",
    "gpus.*.fabric.clique": "fabric_clique",
    "gpus.*.fabric.cluster": lambda _: {"fabric_cluster": 0},
    "gpus.*.compute_capability": lambda value: dict(zip(("cc_major", "cc_minor"), value.split("."), strict=True)),
    # the machine
    "init.code": call("nvmlInit"),
    "driver_version": "driver_version",
    "confidential": "confidential",
    "alarms.*.code": call("nvmlDeviceGetCount"),
    "pairs.*.p2p": word("p2p", "P2P_STATUS"),
    "pairs.*.ancestor": word("ancestor", "TOPOLOGY"),
    "hang.call": lambda _: {"call.nvmlDeviceGetName": "stuck"},
    "gpus": lambda _: {},
}  # fmt: skip
"""How our library gives each field another value."""


def lines(state: State, gpu: int) -> dict[str, str]:
    """Return the lines of the scenario in which this GPU, or the machine, is in a state."""
    found: dict[str, str] = {}
    for path, value in {**state.beside, state.path: state.value}.items():
        form = FORMS[path]
        for name, text in ({form: value} if isinstance(form, str) else form(value)).items():
            found[name if not path.startswith("gpus.") else _of_gpu(name, gpu)] = str(int(text) if isinstance(text, bool) else text)
    return found


def _of_gpu(name: str, gpu: int) -> str:
    return f"{name}.{gpu}" if name.startswith("call.") else f"gpu.{gpu}.{name}"
