"""The fields of a snapshot that differ between two looks at a machine on which nothing changed."""

from __future__ import annotations

from typing import Final

from gpudoctor.snapshot import (
    Bar1,
    CudaCall,
    CudaContext,
    Details,
    Fabric,
    GpuLoad,
    KernelLog,
    Licence,
    Loads,
    Memory,
    NvLink,
    NvmlGpu,
    PciDevice,
    SharedMemory,
    Smoke,
    Snapshot,
    StageLoad,
    XidEvent,
)
from gpudoctor.snapshot.smoke import Agreement, AllReduce, CompiledStep, Copy, Kernel, MemoryRate, Product, Speed, Stage, Sum, Training
from gpudoctor.snapshot.values import Observed

VOLATILE: Final[dict[type[Observed | Snapshot], frozenset[str]]] = {
    Snapshot: frozenset({"created", "loads", "remarks", "stuck", "text_log", "version"}),
    Details: frozenset({"uptime"}),
    Memory: frozenset({"available", "swap_free"}),
    SharedMemory: frozenset({"free"}),
    PciDevice: frozenset({"link_speed", "power_state", "runtime_status"}),
    KernelLog: frozenset({"ages"}),
    XidEvent: frozenset({"age"}),
    NvmlGpu: frozenset({
        "memory_free", "memory_used", "link_generation", "pcie_replays", "pcie_replays_later", "clocks_event_reasons", "performance_state",
        "utilization", "clock_sm", "clock_memory", "temperature", "power", "compute_processes", "graphics_processes", "heat", "held_back",
        "held_back_later", "refusals",
    }),
    NvLink: frozenset({"replays", "recoveries", "grown"}),
    Fabric: frozenset({"health"}),
    Licence: frozenset({"seconds_left"}),
    Bar1: frozenset({"used"}),
    CudaCall: frozenset({"milliseconds"}),
    CudaContext: frozenset({"memory_free", "memory_free_meanwhile", "memory_free_after"}),
    Smoke: frozenset({"output", "mapped"}),
    Stage: frozenset({"seconds"}),
    Training: frozenset({"losses", "seconds", "samples_per_second", "accuracy"}),
    Agreement: frozenset({"loss_difference", "weight_difference"}),
    Kernel: frozenset({"error"}),
    Speed: frozenset({"samples_per_second", "cpu_samples_per_second"}),
    Copy: frozenset({"bytes_per_second"}),
    MemoryRate: frozenset({"bytes_per_second"}),
    Product: frozenset({"flops", "error"}),
    CompiledStep: frozenset({"seconds", "step_seconds", "loss_difference"}),
    AllReduce: frozenset({"output"}),
    Sum: frozenset({"seconds", "bus_bytes_per_second", "error"}),
    Loads: frozenset(Loads.__struct_fields__),
    GpuLoad: frozenset(GpuLoad.__struct_fields__),
    StageLoad: frozenset(StageLoad.__struct_fields__),
}  # fmt: skip
"""Measurements, counters of normal operation, processes and times, by the struct that holds them."""
