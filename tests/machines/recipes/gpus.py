"""Machines whose GPUs are faulty, slow, or blocked, each with a similar healthy one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.machines.recipes.base import Recipe, healthy
from tests.seams import Cuda, Mig, Nvml, NvmlGpu, PciCard, Tree

GIB = 1 << 30
HELD: Mapping[str, Any] = {"memory_used": 79 * GIB, "compute_processes": ((4711, 78 * GIB),)}
PYTHON = {4711: "/usr/bin/python3 train.py"}
V100 = NvmlGpu(
    name="Tesla V100-SXM2-32GB", pci_device_id=0x1DB510DE, compute_capability=(7, 0), memory_total=32 * GIB, mig=None, remapped=None, sram=None,
    pcie_gen=(3, 3), nvlinks="1" * 6, recovery_action=None,
)  # fmt: skip
T4 = NvmlGpu(
    name="Tesla T4", pci_device_id=0x1EB810DE, compute_capability=(7, 5), memory_total=16 * GIB, mig=None, remapped=None, sram=None,
    pcie_gen=(3, 3), nvlinks=None, power_usage=9_000, power_limit=70_000, power_limit_default=70_000,
)  # fmt: skip
RTX_3090 = NvmlGpu(
    name="NVIDIA GeForce RTX 3090", pci_device_id=0x220410DE, compute_capability=(8, 6), memory_total=24 * GIB, mig=None, ecc=None,
    ecc_corrected=None, ecc_uncorrected=None, remapped=None, sram=None, nvlinks=None, persistence=0, fabric=None, recovery_action=None,
)  # fmt: skip
VIRTUAL = NvmlGpu(name="GRID A100D-20C", virtualization=2, memory_total=20 * GIB, nvlinks=None, fabric=None, pcie_gen=None, pcie_width=None)


def of(*gpus: NvmlGpu, about: str, nvml: Mapping[str, Any] | None = None, cuda: Mapping[str, Any] | None = None, **changes: Any) -> Recipe:
    """A server with these cards, all visible to CUDA unless `cuda` says otherwise."""
    library = Nvml(gpus=gpus, **(nvml or {}))
    shown = Cuda(**{"gpus": library.gpus, **(cuda or {})})
    tree = Tree(pci=[PciCard.of(card) for card in library.cards], kernel_driver=library.driver)
    return healthy(len(gpus), about=about, tree=tree, libraries=(library, shown), **changes)


def one(about: str, **card: Any) -> Recipe:
    """One A100 that differs from a healthy one."""
    return of(NvmlGpu(**card), about=about)


def ill(recipe: Recipe, *roots: str, verdict: str = "degraded", folded: tuple[str, ...] = ()) -> Recipe:
    """The recipe as an unhealthy one."""
    return replace(recipe, verdict=verdict, roots=roots, folded=folded)


def noted(recipe: Recipe, *notes: str) -> Recipe:
    """The recipe as a healthy one with a note."""
    return replace(recipe, notes=notes)


def pair_of_cards(iommu: str) -> Recipe:
    """Two workstation cards without NVLink that use P2P, behind an IOMMU."""
    nvml = Nvml(gpus=(NvmlGpu(nvlinks=None), NvmlGpu(nvlinks=None)), facts={"p2p": "0"})
    tree = Tree(pci=[replace(PciCard.of(card), iommu=iommu) for card in nvml.cards], kernel_driver=nvml.driver)
    return healthy(2, about=f"two cards without NVLink, IOMMU {iommu}", tree=tree, libraries=(nvml, Cuda(gpus=nvml.gpus)))


def slot_with_errors(fatal: int, nonfatal: int) -> Recipe:
    """A card whose PCIe errors were counted."""
    nvml = Nvml(gpus=1)
    tree = Tree(pci=[replace(PciCard.of(card), aer=(fatal, nonfatal)) for card in nvml.cards], kernel_driver=nvml.driver)
    return healthy(about=f"{fatal} fatal and {nonfatal} other uncorrected PCIe errors", tree=tree)


HEALTH: dict[str, Recipe] = {
    "memory-errors-uncorrected": ill(
        of(NvmlGpu(), NvmlGpu(ecc_uncorrected=3), about="the second of two A100 had three uncorrectable memory errors"), "ecc-hardware-error"
    ),
    "memory-errors-corrected": one("five thousand memory errors, all of them corrected", ecc_corrected=5000),
    "sram-threshold-passed": ill(one("on-chip memory past NVIDIA's threshold", sram=(14, 1)), "ecc-hardware-error"),
    "row-remap-waits": ill(one("a row of memory waits for a reset to be remapped", remapped=(0, 1, 1, 0)), "row-remap-pending"),
    "row-remap-did-not-work": ill(one("remapping a row of memory failed", remapped=(0, 8, 0, 1)), "row-remap-failed"),
    "rows-remapped-long-ago": one("rows were remapped and all is done", remapped=(2, 1, 0, 0)),
    "pages-to-be-retired": ill(
        of(replace(V100, retired_pages=(2, 1, 1)), about="a V100 with a page that waits to be retired", notes=("gpu-lacks-bf16",)),
        "pages-retirement-pending",
    ),
    "pages-nearly-all-retired": ill(
        of(replace(V100, retired_pages=(50, 11, 0)), about="a V100 with 61 of 64 pages retired", notes=("gpu-lacks-bf16",)),
        "pages-retirement-pending",
    ),
    "pages-retired": noted(
        of(replace(V100, retired_pages=(2, 1, 0)), about="a V100 with three retired pages, none waiting"), "gpu-lacks-bf16"
    ),
    "inforom-is-corrupt": ill(
        of(NvmlGpu(), about="the infoROM is corrupt, the GPU usable", nvml={"calls": {"nvmlDeviceGetInforomConfigurationChecksum": "return 14"}}),
        "inforom-corrupt",
    ),
    "reset-recommended": ill(one("the driver's recovery action is a reset", recovery_action=1), "gpu-requires-reset", verdict="broken"),
    "drain-recommended": ill(one("the driver's recovery action is to drain, then reset", recovery_action=4), "gpu-requires-reset"),
    "one-of-two-requires-reset": ill(
        of(
            NvmlGpu(), NvmlGpu(), about="NVML does not open the second of two GPUs: it requires reset",
            nvml={"calls": {"nvmlDeviceGetHandleByIndex.1": "return 16"}}, cuda={"gpus": 1},
        ),
        "gpu-requires-reset", verdict="broken", folded=("gpu-count-mismatch",),
    ),
    "one-of-two-without-power-cable": ill(
        of(
            NvmlGpu(), NvmlGpu(), about="NVML does not open the second of two GPUs: insufficient external power",
            nvml={"calls": {"nvmlDeviceGetHandleByIndex.1": "return 8"}}, cuda={"gpus": 1},
        ),
        "power-cable-missing", verdict="broken", folded=("gpu-count-mismatch",),
    ),
}  # fmt: skip

SPEED: dict[str, Recipe] = {
    "link-half-as-wide": ill(one("eight lanes of sixteen", pcie_width=(8, 16)), "pcie-link-degraded"),
    "link-slow-under-load": ill(one("generation 1 while the GPU works", pcie_gen=(1, 4), utilization=(96, 40)), "pcie-link-degraded"),
    "link-with-errors": ill(slot_with_errors(0, 3), "pcie-link-degraded"),
    "link-without-errors": slot_with_errors(0, 0),
    "link-repeats-transfers": ill(one("the replay counter rises while we look", pcie_replays="70+"), "pcie-link-degraded"),
    "link-idles": one("generation 1 while the GPU idles, and old replays", pcie_gen=(1, 4), pcie_replays=70),
    "power-brake": ill(one("a power brake", clocks_event_reasons=0x88), "power-throttled"),
    "power-limit-lowered": ill(
        one("held at a limit of 250 W, 400 W is the default", power_limit=250_000, power_usage=249_000, clocks_event_reasons=0x4, utilization=(99, 60)),
        "power-throttled",
    ),
    "power-limit-lowered-idle": noted(one("a limit of 250 W, 400 W is the default, and nothing to do", power_limit=250_000), "power-throttled"),
    "works-at-full-load": one("full load at the default limit", clocks_event_reasons=0x4, power_usage=398_000, utilization=(100, 70), temperature=71),
    "too-hot": ill(one("the hardware slows the clocks because of heat", clocks_event_reasons=0x48, temperature=91), "thermal-throttled"),
    "slowed-and-not-said-why": ill(one("a hardware slowdown without a reason", clocks_event_reasons=0x8), "hw-slowdown"),
}  # fmt: skip

STATE: dict[str, Recipe] = {
    "exclusive-and-taken": ill(
        of(
            NvmlGpu(compute_mode=3, compute_processes=((4711, GIB),), memory_used=GIB),
            about="exclusive-process, and a process has the only GPU", nvml={"processes": PYTHON},
        ),
        "exclusive-compute-mode", verdict="broken",
    ),
    "exclusive-and-taken-of-two": ill(
        of(NvmlGpu(compute_mode=3, compute_processes=((4711, GIB),)), NvmlGpu(), about="the same, with a second GPU beside it"),
        "exclusive-compute-mode", verdict="broken",
    ),
    "exclusive-and-free": noted(one("exclusive-process, and nobody there", compute_mode=3), "exclusive-compute-mode"),
    "exclusive-for-mps": noted(
        of(
            NvmlGpu(compute_mode=3, compute_processes=((4711, 30 << 20),)), about="exclusive-process, and the MPS server has the GPU",
            nvml={"processes": {4711: "nvidia-cuda-mps-server"}},
        ),
        "exclusive-compute-mode",
    ),
    "prohibited": ill(one("the only GPU is in the mode prohibited", compute_mode=2), "compute-prohibited", verdict="broken"),
    "prohibited-for-the-display": ill(
        of(NvmlGpu(compute_mode=2), NvmlGpu(), about="one of two GPUs is in the mode prohibited"), "compute-prohibited", verdict="broken"
    ),
    "mig-two-instances": noted(
        one("MIG with two instances", mig=(1, 1), mig_instances=[Mig(uuid="MIG-a"), Mig(uuid="MIG-b", gpu_instance=8)]), "mig-one-instance-per-process"
    ),
    "mig-one-instance": one("MIG with one instance", mig=(1, 1), mig_instances=[Mig(uuid="MIG-a")]),
    "mig-not-divided": ill(
        of(NvmlGpu(mig=(1, 1)), about="MIG is on, and there is no instance", cuda={"gpus": 0, "calls": {"cuInit": "return 100"}}),
        "mig-no-instances", verdict="broken", folded=("cuda-init-fails",),
    ),
    "memory-held": ill(
        of(NvmlGpu(**HELD), about="another process holds nearly all of the GPU's memory", nvml={"processes": PYTHON}),
        "gpu-memory-held-by-other-process", verdict="broken",
    ),
    "memory-held-and-left-alone": replace(
        ill(of(NvmlGpu(**HELD), about="the same, where a training is asked for"), "gpu-memory-held-by-other-process", verdict="broken"),
        arguments=("--level", "train"),
    ),
    "memory-held-by-nobody-visible": ill(
        one("the memory is full and no process is to be seen", memory_used=79 * GIB), "gpu-memory-held-by-other-process", verdict="broken"
    ),
    "memory-shared-with-room": one("another process computes and leaves room", memory_used=30 * GIB, compute_processes=((4711, 30 * GIB),)),
    "persistence-off": noted(one("an A100 without persistence mode", persistence=0), "persistence-mode-off"),
    "persistence-off-on-a-desktop": of(RTX_3090, about="a GeForce without persistence mode, as they come"),
}  # fmt: skip

VIRTUALISED: dict[str, Recipe] = {
    "vgpu-without-licence": ill(
        of(replace(VIRTUAL, facts={"licence_product": "NVIDIA Virtual Compute Server", "licence_state": 0}), about="a vGPU without licence"),
        "vgpu-unlicensed",
    ),
    "vgpu-refused": ill(
        of(
            replace(VIRTUAL, facts={"licence_product": "NVIDIA Virtual Compute Server", "licence_state": 0}),
            about="a vGPU without licence that refuses CUDA", cuda={"calls": {"cuInit": "return 102"}},
        ),
        "vgpu-unlicensed", verdict="broken", folded=("cuda-init-fails",),
    ),
    "vgpu-licensed": of(
        replace(VIRTUAL, facts={"licence_product": "NVIDIA Virtual Compute Server", "licence_state": 1}), about="a vGPU with its licence"
    ),
    "confidential-not-ready": ill(
        of(
            NvmlGpu(), about="confidential computing is on and nobody set the GPU ready",
            nvml={"facts": {"confidential": 1}}, cuda={"calls": {"cuInit": "return 802"}},
        ),
        "confidential-computing-not-ready", verdict="broken", folded=("cuda-init-fails",),
    ),
    "confidential-and-ready": of(
        NvmlGpu(), about="confidential computing is on, the GPU attested and ready", nvml={"facts": {"confidential": 1, "confidential_ready": 1}}
    ),
}  # fmt: skip

SEVERAL: dict[str, Recipe] = {
    "translated-transfers": ill(pair_of_cards("DMA-FQ"), "nccl-p2p-acs-iommu"),
    "untouched-transfers": pair_of_cards("identity"),
    "links-down-on-one": ill(of(NvmlGpu(), NvmlGpu(nvlinks="111111110000"), about="four NVLinks of the second GPU are down"), "nvlink-inactive"),
    "links-without-bridge": of(NvmlGpu(nvlinks="0" * 12), NvmlGpu(nvlinks="0" * 12), about="two A100 without a bridge: every link is down"),
    "two-models": noted(of(NvmlGpu(), T4, about="an A100 and a T4"), "gpu-lacks-bf16", "mixed-gpu-models"),
    "two-models-in-one-job": ill(
        of(
            NvmlGpu(), T4, about="a job that was assigned an A100 and a T4", environment={"SLURM_JOB_ID": "7", "SLURM_JOB_GPUS": "0,1"},
            notes=("gpu-lacks-bf16",),
        ),
        "mixed-gpu-models",
    ),
}  # fmt: skip

RECIPES: dict[str, Recipe] = HEALTH | SPEED | STATE | VIRTUALISED | SEVERAL
