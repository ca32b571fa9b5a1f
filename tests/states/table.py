"""The abnormal states of NVML's answers: what gpudoctor must find in each, or why it finds nothing.

The meaning of the values is that of nvml.h.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gpudoctor.snapshot import Cause, GpuProcess, Missing

SECOND: Final = 1_000_000_000
LOST: Final = Missing(Cause.LOST, "nvmlDeviceGetName answered 15 (GPU is lost)")


@dataclass(frozen=True)
class State:
    """A field with an abnormal value, and the rule that must find it; `beside` are fields that such a machine has otherwise too.

    Without a rule, `why` says why there is no finding. `alone` is False for a finding that takes another GPU to compare with.
    """

    path: str
    value: Any
    finds: str = ""
    why: str = ""
    beside: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = True

    @property
    def values(self) -> Mapping[str, Any]:
        """Return all values of the state by path."""
        return {**self.beside, self.path: self.value}

    def __str__(self) -> str:
        return f"{self.path}={str(self.value)[:40]}"


def of(path: str, *values: Any, finds: str = "", why: str = "", beside: Mapping[str, Any] | None = None, alone: bool = True) -> list[State]:
    """Return a state for each value of a field of a GPU."""
    named = {f"gpus.*.{name}": one for name, one in (beside or {}).items()}
    return [State(f"gpus.*.{path}", value, finds, why, named, alone) for value in values]


def of_nvml(path: str, *values: Any, finds: str = "", why: str = "", beside: Mapping[str, Any] | None = None) -> list[State]:
    """Return a state for each value of a field of NVML itself."""
    return [State(path, value, finds, why, beside or {}) for value in values]


HELD: Final = {"power_brake": "power-throttled", "board_limit": "power-throttled", "thermal": "thermal-throttled"}
STATES: Final = (
    # its errors
    *of("alarms.*.code", 8, finds="power-cable-missing"),
    *of("alarms.*.code", 11, finds="gpu-not-responding"),
    *of("alarms.*.code", 14, finds="inforom-corrupt"),
    *of("alarms.*.code", 15, finds="gpu-fell-off-bus"),
    *of("alarms.*.code", 16, finds="gpu-requires-reset"),
    *of("address", LOST, finds="gpu-fell-off-bus"),
    *of("name", LOST, finds="gpu-fell-off-bus"),
    *of("refusals.times", 80, finds="gpu-not-responding", beside={"refusals.code": 999}),
    *of("recovery_action", "reset", "reboot", "bus-reset", "system-reboot", finds="gpu-requires-reset"),
    *of("recovery_action", "drain-p2p", "drain-and-reset", "recover-imex-domain", finds="gpu-requires-reset"),
    *of("recovery_action", "code 9", finds="gpu-requires-reset"),
    # memory errors
    *of("ecc_enabled", False, finds="ecc-disabled", beside={"ecc_pending": False}),
    *of("ecc_enabled", False, finds="ecc-change-pending"),
    *of("ecc_pending", False, finds="ecc-change-pending"),
    *of("ecc_corrected", 1, 100_000, why="ECC corrected them, and the driver retires what fails again"),
    *of("ecc_corrected_total", 100_000, why="ECC corrected them, and the driver retires what fails again"),
    *of("ecc_uncorrected", 1, finds="ecc-hardware-error"),
    *of("ecc_uncorrected_total", 1, why="the driver has retired the memory since, or reports it as pending"),
    *of("sram.threshold_exceeded", True, finds="ecc-hardware-error"),
    *of("sram.uncorrected_total", 1, why="NVIDIA's own threshold says when they matter"),
    *of("retired_pages.pending", True, finds="pages-retirement-pending"),
    *of("retired_pages.single_bit", 60, 64, finds="pages-retirement-pending"),
    *of("retired_pages.single_bit", 59, why="NVIDIA replaces a GPU from 60 retired pages on"),
    *of("retired_pages.double_bit", 60, finds="pages-retirement-pending"),
    *of("remapped_rows.pending", True, finds="row-remap-pending"),
    *of("remapped_rows.failed", True, finds="row-remap-failed"),
    *of("remapped_rows.correctable", 8, why="they are remapped, and the spare rows that are left are counted"),
    *of("remapped_rows.uncorrectable", 8, why="they are remapped, and the spare rows that are left are counted"),
    *of("spare_rows.none", 1, finds="spare-rows-exhausted"),
    *of("spare_rows.low", 1, finds="spare-rows-exhausted"),
    *of("spare_rows.partial", 640, why="banks have spare rows left"),
    *of("ecc_places.*.uncorrected", 3, finds="ecc-hardware-error", beside={"ecc_uncorrected": 3}),
    *of("ecc_places.*.uncorrected_total", 3, why="the driver has retired the memory since, or reports it as pending"),
    *of("ecc_places.*.corrected", 3, why="ECC corrected them, and the driver retires what fails again"),
    *of("ecc_places.*.corrected_total", 3, why="ECC corrected them, and the driver retires what fails again"),
    # how programs may use it
    *of("compute_mode", "prohibited", finds="compute-prohibited"),
    *of("compute_mode", "exclusive-process", "exclusive-thread", finds="exclusive-compute-mode"),
    *of("persistence", False, finds="persistence-mode-off"),
    *of("mig_enabled", True, finds="mig-no-instances", beside={"mig_pending": True}),
    *of("mig_enabled", True, finds="mig-change-pending", beside={"mig_instances.*.place": 0}),
    *of("mig_pending", True, finds="mig-change-pending"),
    *of("virtualization", "vgpu", why="a licence says whether a virtual GPU is limited"),
    *of("virtualization", "passthrough", why="a GPU that a VM has for itself works as on the host"),
    *of("virtualization", "host-vgpu", "host-vsga", why="CUDA says whether the host can use a GPU that it shares with virtual machines"),
    *of("licences.*.licensed", False, finds="vgpu-unlicensed", beside={"virtualization": "vgpu"}),
    *of("licences.*.enabled", False, why="the driver offers the feature; a licence says whether it is limited", beside={"virtualization": "vgpu"}),
    *of("licences.*.seconds_left", 3600, finds="vgpu-licence-expiring", beside={"virtualization": "vgpu"}),
    *of("memory_free", 1 << 20, finds="gpu-memory-held-by-other-process", beside={"memory_used": 191 << 30, "memory_total": 179 << 30}),
    *of("memory_total", 80 << 30, why="the capacity of a product varies by its variant, which the name does not always say"),
    *of("memory_reserved", 20 << 30, why="the driver reserves what it needs, and reports the rest as free"),
    # speed
    *of("link_width", 8, finds="pcie-link-degraded"),
    *of("link_width", 63, 255, finds="gpu-fell-off-bus"),
    *of("link_width_max", 4, finds="pcie-link-degraded", beside={"link_width": 4}),
    *of("link_width_max", 63, finds="gpu-fell-off-bus"),
    *of("link_generation", 1, why="an idle link runs at generation 1"),
    *of("link_generation", 1, finds="pcie-link-degraded", beside={"utilization": 90}),
    *of("link_generation_max", 1, finds="pcie-link-degraded", beside={"link_generation": 1}),
    *of("link_generation_own", 7, finds="pcie-link-degraded"),
    *of("pcie_replays", 9, why="some are normal after boot; only growth matters", beside={"pcie_replays_later": 9}),
    *of("pcie_replays_later", 3, finds="pcie-link-degraded"),
    *of("clocks_event_reasons", 0x8, finds="hw-slowdown"),
    *of("clocks_event_reasons", 0x48, 0x40, 0x20, finds="thermal-throttled"),
    *of("clocks_event_reasons", 0x88, 0x80, finds="power-throttled"),
    *of("clocks_event_reasons", 0x4, why="every GPU reaches its power limit under full load"),
    *of("clocks_event_reasons", 0x2, why="application clocks that are lower than their default are found by their values"),
    *of("clocks_event_reasons", 0x10, why="sync boost holds GPUs at the slowest one's clocks, by its owner's choice"),
    *of("clocks_event_reasons", 0x100, why="the display's clocks"),
    *of("performance_state", 8, 15, why="an idle GPU is in a low state"),
    *of("utilization", 100, why="a program that shares the GPU is found by the memory that it holds"),
    *of("clock_sm", 135, why="an idle GPU lowers its clocks"),
    *of("clock_sm_max", 700, why="it is the product's own; limits, reasons and application clocks show what slows one"),
    *of("clock_memory", 405, why="an idle GPU lowers its clocks"),
    *of("clock_memory_max", 800, why="it is the product's own; limits, reasons and application clocks show what slows one"),
    *of("application_clocks.sm", 600, finds="application-clocks-lowered"),
    *of("application_clocks.memory", 600, finds="application-clocks-lowered"),
    *of("temperature", 91, finds="thermal-throttled"),
    *of("heat.memory", 104, finds="thermal-throttled"),
    *of("heat.margin", 0, -2, finds="thermal-throttled"),
    *of("heat.margin", 3, finds="thermal-throttled", beside={"heat.gpu_tlimit": 3}),
    *of("heat.margin", -2, finds="thermal-throttled", beside={"heat.slowdown_tlimit": -2}),
    *of("heat.margin", -5, finds="thermal-throttled", beside={"heat.shutdown_tlimit": -5}),
    *of("temperature_slowdown", 30, finds="thermal-throttled"),
    *of("temperature_shutdown", 30, finds="thermal-throttled"),
    *of("heat.memory_limit", 30, finds="thermal-throttled"),
    *of("heat.gpu_limit", 30, finds="thermal-throttled"),
    *of("power", 1_000_000, why="a busy GPU draws its limit"),
    *of("power_limit", 400_000, finds="power-throttled"),
    *of("held_back_later.thermal_by_hardware", 9 * SECOND, finds="thermal-throttled", beside={"held_back.thermal_by_hardware": 0}),
    *of("held_back_later.power_brake", 9 * SECOND, finds="power-throttled", beside={"held_back.power_brake": 0}),
    *of("held_back_later.board_limit", 9 * SECOND, finds="power-throttled"),
    *of("held_back_later.thermal", 9 * SECOND, finds="thermal-throttled"),
    *of("held_back_later.thermal_by_driver", 9 * SECOND, finds="thermal-throttled", beside={"held_back.thermal_by_driver": 0}),
    *of("held_back_later.power", 900 * SECOND, why="every GPU reaches its power limit under full load"),
    *of("held_back_later.sync_boost", 9 * SECOND, why="sync boost holds GPUs at the slowest one's clocks, by its owner's choice"),
    *of("held_back_later.low_utilization", 9 * SECOND, why="an idle GPU lowers its clocks"),
    *of("held_back_later.reliability", 9 * SECOND, why="every GPU under load is limited by its voltage at times"),
    *of("bar1.total", 256 << 20, finds="resizable-bar-off"),
    *of("bar1.used", 128 << 30, why="programs map what they need and release it when they end"),
    # several GPUs
    *of("nvlinks.*.active", False, finds="nvlink-inactive"),
    *of("nvlinks", (), finds="nvlink-inactive", alone=False),
    *of("nvlinks.*.active", LOST, finds="gpu-fell-off-bus"),
    *of("nvlinks.*.crc_errors", 50, why="a link that works corrects them; only growth matters"),
    *of("nvlinks.*.replays", 50, why="a link that works replays; only growth matters"),
    *of("nvlinks.*.recoveries", 50, why="a link that works recovers; only growth matters"),
    *of("nvlinks.*.grown.*.count", 9, finds="nvlink-errors"),
    *of("nvlinks.*.errors.*.name", "link_recovery_failed_events", finds="nvlink-errors", beside={"nvlinks.*.errors.*.count": 1}),
    *of("nvlinks.*.errors.*.count", 1, why="errors that the link corrected; only growth matters"),
    *of("nvlinks.*.speed", 26_562, finds="nvlink-slow", beside={"nvlinks.*.active": True}),
    *of("nvlinks.*.remote", "unknown", why="bridges and unknown boards give no type"),
    *of("nvlink_version", "4.0", why="the product decides it, and names are compared"),
    *of("fabric.state", "not-started", "in-progress", finds="fabric-not-ready"),
    *of("fabric.status", 999, finds="fabric-unhealthy"),
    *of("fabric.summary", "unhealthy", "limited-capacity", finds="fabric-unhealthy"),
    *of("fabric.health", *(426 & ~(3 << shift) | 1 << shift for shift in (0, 2, 4, 6)), finds="fabric-unhealthy"),
    *of("fabric.clique", 7, finds="fabric-unhealthy", alone=False),
    *of("fabric.cluster", "00" * 16, finds="fabric-unhealthy", alone=False),
    *of("compute_processes", (GpuProcess(4711, memory=100 << 30, name="python3"),), finds="gpu-memory-held-by-other-process",
        beside={"memory_free": 1 << 30, "memory_used": 177 << 30}),
    *of("compute_capability", "9.0", why="the product decides it, and names are compared"),
    *of("name", "NVIDIA H100 80GB HBM3", finds="mixed-gpu-models", alone=False),
    # the machine
    *of_nvml("init.code", 18, finds="driver-library-mismatch", beside={"gpus": Missing(Cause.FAILED, "nvmlInit answered 18")}),
    *of_nvml("driver_version", "570.10", finds="fabric-manager-version-mismatch"),
    *of_nvml("confidential", True, finds="confidential-computing-not-ready"),
    *of_nvml("alarms.*.code", 15, finds="nvml-fails", beside={"gpus": LOST}),
    *of_nvml("init.code", 15, finds="nvml-fails", beside={"gpus": LOST}),
    *of_nvml("init.code", 8, finds="power-cable-missing", beside={"gpus": Missing(Cause.FAILED, "nvmlInit answered 8")}),
    *of_nvml("init.code", 9, 1, 12, 28, finds="nvml-fails", beside={"gpus": Missing(Cause.FAILED, "nvmlInit answered 9")}),
    *of_nvml("init.code", 11, 17, 20, 999, finds="nvml-fails", beside={"gpus": Missing(Cause.FAILED, "nvmlInit answered 11")}),
    *of_nvml("init.code", 16, finds="gpu-requires-reset", beside={"gpus": Missing(Cause.FAILED, "nvmlInit answered 16")}),
    *of_nvml("pairs.*.p2p", "chipset-not-supported", "disabled", why="collectives then use host memory; the all-reduce of a training check measures what it costs"),
    *of_nvml("pairs.*.ancestor", "system", why="GPUs of two processors are this far apart"),
    *of_nvml("hang.call", "nvmlDeviceGetName 0", finds="driver-hung"),
)  # fmt: skip
"""What gpudoctor must find on a machine that is healthy otherwise."""

NAMES: Final = "it names the thing, and every name is usual"
PART: Final = "it belongs to a state of the field beside it"
TICKET: Final = "it is for warranty claims and support tickets"
USUAL: Final[Mapping[str, str]] = {
    "init.name": PART,
    "init.text": PART,
    "library": "the versions of libraries and kernel module are compared, not their places",
    "nvml_version": "it is the driver's version with that of CUDA before it",
    "cuda_served": "libcuda says the same, and rules read it there",
    "confidential_ready": "it means something with confidential computing alone, and that state is tried",
    "gpus.*.index": NAMES,
    "gpus.*.uuid": NAMES,
    "gpus.*.minor": NAMES,
    "gpus.*.mig_instances": "CUDA says which instances programs can use; rules count them",
    "gpus.*.inforom_checksum": "a corrupt infoROM is an error of this call, and that state is tried",
    "gpus.*.alarms.*": PART,
    "gpus.*.refusals.asked": PART,
    "gpus.*.licences.*": PART,
    "gpus.*.power_limit_default": PART,
    "gpus.*.power_limit_min": "it is the product's own",
    "gpus.*.power_limit_max": "it is the product's own",
    "gpus.*.nvlinks.*.link": NAMES,
    "gpus.*.nvlinks.*.grown.*.name": PART,
    "gpus.*.compute_processes.*": "a program that uses the GPU is found by the memory that it holds",
    "gpus.*.graphics_processes.*": "a display uses little memory, which counts as used",
    "gpus.*.board": TICKET,
    "gpus.*.heat.memory_tlimit": "NVML reports no margin of the memory to compare it with",
    "gpus.*.held_back": "only growth matters, and what it was before the check began is in the state beside it",
    "gpus.*.spare_rows": "banks have spare rows left",
    "gpus.*.ecc_places.*.place": NAMES,
    "gpus.*.application_clocks": PART,
    "gpus.*.numa_memory": NAMES,
    "gpus.*.rack": TICKET,
    "pairs.*.one": NAMES,
    "pairs.*.other": NAMES,
    "alarms.*": PART,
    "hang": PART,
}
"""Why a field, or each field of a section, has no abnormal value of its own."""
