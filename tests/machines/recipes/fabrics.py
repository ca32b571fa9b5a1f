"""Machines whose GPUs are on an NVLink fabric, healthy and not, for each generation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.machines.packages import torch
from tests.machines.recipes.base import Recipe, healthy
from tests.machines.recipes.gpus import ill, noted, of
from tests.machines.recipes.kernel import FABRIC_UNIT, RUNNING, SWITCH, kmsg, logged
from tests.seams import Cuda, Nvml, NvmlGpu, PciCard, Tree

GIB = 1 << 30
DRIVER = "580.65.06"
GOOD = 0b01_10_10_10_10
"""No reduced bandwidth, no route recovery, a healthy route, no access timeout recovery, a correct configuration."""
SLOW_ROUTE = 0b01_10_01_10_01
JOINED = {"fabric_health": GOOD, "fabric_summary": 1, "fabric_cluster": 0x5A}
H100 = NvmlGpu(
    name="NVIDIA H100 80GB HBM3", pci_device_id=0x233010DE, compute_capability=(9, 0), nvlinks="1" * 18, pcie_gen=(5, 5), fabric=(3, 0),
    power_limit=700_000, power_limit_default=700_000, power_limits=(200_000, 700_000), facts={"nvlink_version": 6, **JOINED},
)  # fmt: skip
B200 = replace(
    H100, name="NVIDIA B200", pci_device_id=0x290110DE, compute_capability=(10, 0), memory_total=183_359 << 20,
    power_limit=1_000_000, power_limit_default=1_000_000, power_limits=(200_000, 1_000_000), facts={"nvlink_version": 7, **JOINED},
)  # fmt: skip
GB200 = replace(B200, name="NVIDIA GB200", pci_device_id=0x294110DE)
TORCH = (torch("2.9.1+cu128", "12.8"),)
WAITS = {"calls": {"cuInit": "return 802"}}
NVLSM = {
    "opt/nvidia/nvlsm/sbin/nvlsm": "", "proc/1043/comm": "nvlsm\n", "sys/class/infiniband_mad/abi_version": "5\n",
    "sys/class/infiniband/mlx5_4/node_type": "1: CA\n",
}  # fmt: skip
IMEX = {"usr/lib/systemd/system/nvidia-imex.service": "[Unit]\n", "sys/fs/cgroup/system.slice/nvidia-imex.service/cgroup.procs": "99\n"}


def waiting(card: NvmlGpu) -> NvmlGpu:
    """A card that is still registering with the fabric."""
    return replace(card, fabric=(2, 0), facts={key: value for key, value in card.facts.items() if not key.startswith("fabric_")})


def but(card: NvmlGpu, count: int, place: int, **facts: int | str) -> list[NvmlGpu]:
    """This many of a card, one of them with these facts."""
    return [replace(card, facts={**card.facts, **facts}) if number == place else card for number in range(count)]


def fabric(
    about: str,
    gpus: Sequence[NvmlGpu],
    *,
    files: Mapping[str, str] | None = None,
    cuda: Mapping[str, Any] | None = None,
    switched: bool = False,
) -> Recipe:
    """A server with these cards on a fabric, with or without NVSwitches on its PCI bus, and these service files."""
    library = Nvml(gpus=gpus, driver=DRIVER, cuda="13.0")
    pci = [*(PciCard.of(gpu) for gpu in library.cards), *([SWITCH] if switched else [])]
    tree = Tree(pci=pci, kernel_driver=DRIVER, open_module=True, files=files or {})
    libraries = (library, Cuda(gpus=library.gpus, cuda="13.0", **(cuda or {})))
    return healthy(len(gpus), about=about, tree=tree, libraries=libraries, packages=TORCH)


SERVICE = {**RUNNING, **logged(DRIVER)}
FAILING: dict[str, int | str] = {
    "nvlink.3.effective_errors": "9+",
    "nvlink.3.link_recovery_failed_events": 1,
    "nvlink.3.symbol_errors": "900+",
}
RISING = {"nvlink.5.crc_errors": "40+", "nvlink.5.replays": "7+"}

RECIPES: dict[str, Recipe] = {
    "hopper-fabric-in-order": fabric("eight H100 behind NVSwitches, registered and healthy", [H100] * 8, files=SERVICE, switched=True),
    "hopper-fabric-in-progress": ill(
        fabric("eight H100; the fabric manager runs and the GPUs still register", [waiting(H100)] * 8, files=SERVICE, cuda=WAITS, switched=True),
        "fabric-not-ready", verdict="broken", folded=("cuda-init-fails",),
    ),
    "hopper-one-with-a-bad-route": ill(
        fabric(
            "eight H100; the fourth reports reduced bandwidth and an unhealthy route", but(H100, 8, 3, fabric_health=SLOW_ROUTE, fabric_summary=2),
            files=SERVICE, switched=True,
        ),
        "fabric-unhealthy",
    ),
    "hopper-guest-without-partition": ill(
        fabric("a virtual machine with one H100 of a host that has not activated its fabric partition", [replace(waiting(H100), virtualization=1)], cuda=WAITS),
        "fabric-manager-missing", verdict="broken", folded=("cuda-init-fails",),
    ),
    "blackwell-fabric-in-order": fabric(
        "eight B200, whose NVSwitches are not on the PCI bus, and every service of NVLink 5", [B200] * 8, files={**SERVICE, **NVLSM}
    ),
    "blackwell-fabric-without-nvlsm": ill(
        fabric("eight B200 and a fabric manager that does not start: no NVLSM, no ib_umad", [waiting(B200)] * 8, files=FABRIC_UNIT, cuda=WAITS),
        "fabric-prerequisites-missing", verdict="broken", folded=("cuda-init-fails", "fabric-manager-missing"),
    ),
    "rack-node-without-fabric": ill(
        noted(
            fabric("a node of an NVL72 rack: four GB200 that wait for the fabric manager on the switch trays", [waiting(GB200)] * 4, cuda=WAITS),
            "fabric-prerequisites-missing",
        ),
        "fabric-manager-missing", verdict="broken", folded=("cuda-init-fails",),
    ),
    "rack-node-in-order": fabric("a node of an NVL72 rack, registered, with IMEX", [GB200] * 4, files=IMEX),
    "nvlink-errors-rise": ill(
        of(NvmlGpu(), NvmlGpu(facts=RISING), about="two A100; CRC errors and replays of a link of the second rise while we look"), "nvlink-errors"
    ),
    "nvlink-errors-of-old": of(NvmlGpu(facts={"nvlink.5.crc_errors": 40}), NvmlGpu(), about="two A100 with old CRC errors that do not rise"),
    "blackwell-link-fails-to-recover": ill(
        fabric(
            "eight B200; a link of the third counts effective errors, and one of its recoveries failed",
            but(B200, 8, 2, **FAILING),
            files={**SERVICE, **NVLSM},
        ),
        "nvlink-errors",
    ),
    "hopper-link-at-half-speed": ill(
        fabric(
            "eight H100; a link of the fifth came up at half the speed of the others",
            [replace(card, facts={**card.facts, "nvlink.speed": 26_562}) for card in but(H100, 8, 4, **{"nvlink.7.speed": 13_281})],
            files=SERVICE, switched=True,
        ),
        "nvlink-slow",
    ),
    "hopper-one-in-another-clique": ill(
        fabric("eight H100; the third is in another clique of the fabric", but(H100, 8, 2, fabric_clique=1), files=SERVICE, switched=True),
        "fabric-unhealthy",
    ),
    "blackwell-xid-145": ill(
        fabric(
            "eight B200; the driver logged Xid 145 of the first", [B200] * 8,
            files={**SERVICE, **NVLSM, **kmsg("NVRM: Xid (PCI:0000:07:00): 145, RLW_REMAP Nonfatal XC0 i0 Link 04 (0x00000004 0x80000000)")},
        ),
        "nvlink-errors",
    ),
}  # fmt: skip
