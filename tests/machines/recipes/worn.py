"""Machines whose GPUs are hot, worn, throttled, badly seated or misconfigured, each with a similar healthy one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.machines.recipes.base import Recipe, healthy
from tests.machines.recipes.gpus import ill, noted, of
from tests.machines.recipes.kernel import SWITCH, kmsg
from tests.seams import Cuda, Nvml, NvmlGpu, PciCard, Tree

MIB = 1 << 20
SECOND = 1_000_000_000  # nanoseconds
H100 = NvmlGpu(
    name="NVIDIA H100 80GB HBM3", pci_device_id=0x233010DE, compute_capability=(9, 0), pcie_gen=(5, 5), nvlinks="1" * 18, power_limit=700_000,
    power_limit_default=700_000, power_limits=(200_000, 700_000), temperature_slowdown=None, temperature_shutdown=None, clock_sm=(345, 1980),
    clock_memory=(2619, 2619),
    facts={
        "vbios": "96.00.5E.00.01", "inforom": "G520.0200.00.05", "part_number": "692-2G520-0200-000", "gsp_enabled": 1, "gsp_default": 1,
        "gsp_firmware": "550.163.01", "temperature_memory_max": 95, "temperature_gpu_max": "", "temperature_margin": 52,
        "tlimit_shutdown": -8, "tlimit_slowdown": -2, "tlimit_gpu": 0, "held.thermal_by_driver": 0, "held.thermal_by_hardware": 0,
        "held.power_brake": 0, "clock_set_sm": 1980, "clock_set_default_sm": 1980, "clock_set_memory": 2619, "clock_set_default_memory": 2619,
    },
)  # fmt: skip
"""It reports limits as margins, runs its own firmware, and separates who throttled its clocks."""


def facts(about: str, card: NvmlGpu | None = None, /, **told: int | str) -> Recipe:
    """One A100, or another card, with changed facts; a name's double underscore is a dot."""
    gpu = card or NvmlGpu()
    return of(replace(gpu, facts={**gpu.facts, **{name.replace("__", "."): value for name, value in told.items()}}), about=about)


def slotted(about: str, lanes: int, generation: int) -> Recipe:
    """An A100, capable of sixteen lanes of generation 4, in a slot that provides this."""
    nvml = Nvml(gpus=[NvmlGpu(pcie_gen=(generation, generation), pcie_width=(lanes, lanes), facts={"pcie_gen_own": 4})])
    tree = Tree(
        pci=[replace(PciCard.of(card), link_gen=(generation, 4), link_width=(lanes, 16)) for card in nvml.cards], kernel_driver=nvml.driver
    )
    return healthy(about=about, libraries=(nvml, Cuda(gpus=nvml.gpus)), tree=tree)


def without_room(about: str, bars: Mapping[int, tuple[int, bool]], *lines: str) -> Recipe:
    """Two A100, the second refused by the driver because part of its memory has no place on the bus."""
    both = Nvml(gpus=2).cards
    first, second = (PciCard.of(gpu) for gpu in both)
    nvml = Nvml(gpus=both[:1])
    tree = Tree(pci=[first, replace(second, driver=None, bars=bars)], kernel_driver=nvml.driver, files=kmsg(*lines))
    whole = healthy(2, about=about, libraries=(nvml, Cuda(gpus=nvml.gpus)), tree=tree)
    return ill(whole, "pci-bar-not-assigned", verdict="broken", folded=("gpu-count-mismatch",))


def switched(about: str, *lines: str) -> Recipe:
    """Eight A100 with their NVSwitches and this driver log."""
    nvml = Nvml(gpus=[NvmlGpu(fabric=(3, 0))] * 8)
    tree = Tree(pci=[*(PciCard.of(card) for card in nvml.cards), SWITCH], kernel_driver=nvml.driver, files=kmsg(*lines))
    return healthy(8, about=about, libraries=(nvml, Cuda(gpus=nvml.gpus)), tree=tree)


LINK: dict[str, Recipe] = {
    "link-narrower-than-its-sibling": ill(
        of(
            NvmlGpu(), NvmlGpu(pcie_width=(8, 8)), about="two A100, the second with eight lanes, which are all that NVML says it could have"
        ),
        "pcie-link-degraded",
    ),
    "links-narrow-alike": of(
        *[NvmlGpu(pcie_width=(8, 8))] * 2, about="two cards with eight lanes each, all that they have themselves", notes=()
    ),
    "slot-gives-a-quarter": ill(slotted("a slot of generation 3 with eight lanes", 8, 3), "pcie-link-degraded"),
    "slot-gives-half": noted(slotted("a slot with eight lanes", 8, 4), "pcie-link-degraded"),
}

SET: dict[str, Recipe] = {
    "ecc-is-off": noted(of(NvmlGpu(ecc=(0, 0)), about="an A100 with ECC switched off"), "ecc-disabled"),
    "ecc-change-waits": noted(of(NvmlGpu(ecc=(1, 0)), about="ECC will be off after the next reset"), "ecc-change-pending"),
    "mig-change-waits": noted(of(NvmlGpu(mig=(0, 1)), about="MIG will be on after the next reset"), "mig-change-pending"),
    "application-clocks-half": ill(
        facts("somebody has set the application clocks to half", clock_set_sm=705), "application-clocks-lowered"
    ),
    "window-of-256-mib": noted(facts("no resizable BAR: 256 MiB for 80 GiB of memory", bar1_total=256 * MIB), "resizable-bar-off"),
}

HEAT: dict[str, Recipe] = {
    "over-its-slowdown-temperature": ill(
        of(NvmlGpu(temperature=90), about="90 °C where 89 °C slow it down, and NVML gives no reason yet"), "thermal-throttled"
    ),
    "over-its-shutdown-temperature": ill(
        of(NvmlGpu(temperature=93), about="93 °C where 92 °C shut it down"), "thermal-throttled", verdict="broken"
    ),
    "memory-too-hot": ill(facts("a cool GPU with its memory at 97 °C, 95 °C is the limit", temperature_memory=97), "thermal-throttled"),
    "no-thermal-margin-left": ill(
        facts("an H100 three degrees beyond its T.Limit, where it slows down", H100, temperature_margin=-3), "thermal-throttled"
    ),
    "thermal-margin-left": facts("an H100 in order, which names its limits as margins", H100),
    "held-back-by-heat": ill(
        facts("the time held back because of heat rises while we look", held__thermal=f"{7 * SECOND}+"), "thermal-throttled"
    ),
    "held-back-by-heat-before": noted(facts("heat cost it twelve minutes, some time ago", held__thermal=720 * SECOND), "thermal-throttled"),
    "held-back-by-a-power-brake": ill(
        facts("the time under a power brake rises while we look", H100, held__power_brake=f"{3 * SECOND}+"), "power-throttled"
    ),
    "held-back-by-a-power-brake-before": noted(
        facts("a power brake cost an H100 four hours", H100, held__power_brake=14_400 * SECOND), "power-throttled"
    ),
}

WORN: dict[str, Recipe] = {
    "no-spare-rows-in-a-bank": ill(facts("one bank of memory without spare rows", spare_rows="637 1 1 0 1"), "spare-rows-exhausted"),
    "few-spare-rows-in-a-bank": noted(facts("two banks of memory with few spare rows", spare_rows="637 1 0 2 0"), "spare-rows-exhausted"),
    "row-remap-failed-and-waits": ill(
        of(
            NvmlGpu(remapped=(0, 8, 1, 1), facts={"spare_rows": "639 0 0 0 1"}),
            about="a bank has no spare rows, remapping failed, and another row waits",
        ),
        "row-remap-failed",
        folded=("row-remap-pending", "spare-rows-exhausted"),
    ),
    "memory-errors-in-the-second-level-cache": ill(
        of(NvmlGpu(ecc_uncorrected=2, facts={"ecc.l2": "9 2 9 2", "ecc.sram": "9 2 9 2"}), about="two uncorrectable errors, both in on-chip memory"),
        "ecc-hardware-error",
    ),
}  # fmt: skip

PLACED: dict[str, Recipe] = {
    "bar-without-room": without_room(
        "the kernel could not place a BAR of 128 GiB",
        {0: (16 * MIB, True), 1: (128 << 30, False), 3: (32 * MIB, True)},
        "pci 0000:0f:00.0: BAR 1 [mem size 0x2000000000 64bit pref]: can't assign; no space",
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:|NVRM: BAR1 is 0M @ 0x0 (PCI:0000:0f:00.0)",
        "NVRM: The system BIOS may have misconfigured your GPU.",
    ),
    "bar-missing-and-logged": without_room(
        "the kernel gave up on BAR 1 and forgot it; its log tells",
        {0: (16 * MIB, True), 3: (32 * MIB, True)},
        "pci 0000:0f:00.0: BAR 1: no space for [mem size 0x2000000000 64bit pref]",
        "pci 0000:0f:00.0: BAR 1: failed to assign [mem size 0x2000000000 64bit pref]",
        "pci 0000:07:00.0: BAR 7: no space for [mem size 0x02000000 64bit pref]",
    ),
}

SWITCHES: dict[str, Recipe] = {
    "switch-port-fatal": ill(
        switched(
            "an NVSwitch logged a fatal error of a port",
            "nvidia-nvswitch0: SXid (PCI:0000:90:00.0): 20034, Fatal, Link 30 LTSSM Fault Up (First)",
        ),
        "nvswitch-fatal-error",
    ),
    "switch-fatal-to-the-fabric": ill(
        switched(
            "an NVSwitch logged an error that is always fatal to the fabric",
            "nvidia-nvswitch0: SXid (PCI:0000:90:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)",
            "nvidia-nvswitch0: SXid (PCI:0000:90:00.0): 22003, Fatal, Link 30 Minion Halt (First)",
        ),
        "nvswitch-fatal-error",
        verdict="broken",
    ),
    "switch-errors-not-fatal": switched(
        "an NVSwitch logged corrected errors",
        "nvidia-nvswitch0: SXid (PCI:0000:90:00.0): 11012, Non-fatal, Link 04 Single bit ECC errors (First)",
    ),
}

RECIPES: dict[str, Recipe] = {**LINK, **SET, **HEAT, **WORN, **PLACED, **SWITCHES}
