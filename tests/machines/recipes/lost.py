"""Machines on which GPUs stop responding, are not listed, or are unreachable."""

from __future__ import annotations

from dataclasses import replace

from tests.machines.recipes.base import Recipe, all_but, cards, healthy
from tests.machines.recipes.gpus import ill, of
from tests.seams import Cuda, Mig, Nvml, NvmlGpu, Tree

FELL, SILENT = "gpu-fell-off-bus", "gpu-not-responding"


def failing(*gpus: int, act: str, cuda: dict[str, str] | None = None, about: str) -> Recipe:
    """Eight A100, some failing after the first calls about them; CUDA lists all eight unless its calls fail."""
    nvml = Nvml(gpus=8, calls={f"*.{gpu}": act for gpu in gpus})
    return healthy(8, about=about, libraries=(nvml, Cuda(gpus=8, calls=cuda or {})))


LOST: dict[str, Recipe] = {
    "eight-one-lost-in-mid-look": ill(
        failing(3, act="after 12 return 15", about="eight A100; the fourth is lost while NVML is asked about it"), FELL, verdict="broken"
    ),
    "nvml-fails-beside-cuda": ill(
        of(NvmlGpu(), NvmlGpu(), about="two A100; NVML starts with an unknown error, and CUDA works", nvml={"calls": {"nvmlInit": "return 999"}}),
        "nvml-fails", verdict="unknown",
    ),
    "eight-all-lost-in-mid-look": ill(
        failing(*range(8), act="after 12 return 15", about="eight A100; all are lost while NVML is asked"), *[FELL] * 8, verdict="broken"
    ),
    "eight-all-lost-and-cuda-999": ill(
        failing(*range(8), act="after 12 return 15", cuda={"cuInit": "return 999"}, about="eight A100; all are lost, and cuInit answers 999"),
        *[FELL] * 8, verdict="broken", folded=("cuda-init-fails",),
    ),
    "eight-one-reads-as-ones": ill(
        healthy(
            8, about="eight A100; the registers of the fourth read as ones (width 63), and NVML has not met that yet",
            tree=Tree(pci=[replace(card, lost=number == 3) for number, card in enumerate(cards(8))], kernel_driver="550.163.01"),
        ),
        FELL, verdict="broken",
    ),
    "eight-one-answers-with-errors": ill(
        failing(3, act="after 12 return 999", about="eight A100; most NVML calls about the fourth fail with an unknown error"), SILENT, verdict="broken"
    ),
    "two-one-with-interrupt-trouble": ill(
        of(NvmlGpu(), NvmlGpu(), about="two A100; NVML reports an interrupt issue of the second", nvml={"calls": {"nvmlDeviceGetPowerUsage.1": "return 11"}}),
        SILENT, verdict="broken",
    ),
}  # fmt: skip

WITHOUT_THIRD = (
    "nvidia0",
    "nvidia1",
    "nvidia2",
    *(f"nvidia{minor}" for minor in range(4, 8)),
    "nvidiactl",
    "nvidia-uvm",
    "nvidia-uvm-tools",
)
COUNTED = "gpu-count-mismatch"

UNREACHED: dict[str, Recipe] = {
    "eight-one-without-its-device-file": ill(
        healthy(
            8, about="eight A100; /dev/nvidia3 is missing, so NVML and CUDA list seven", tree=Tree(pci=cards(8), kernel_driver="550.163.01", nodes=WITHOUT_THIRD),
            libraries=(Nvml(gpus=all_but(3)), Cuda(gpus=all_but(3))),
        ),
        "device-nodes-missing", verdict="broken", folded=(COUNTED,),
    ),
    "eight-cuda-lists-seven": ill(
        healthy(8, about="eight A100 in NVML, seven in CUDA", libraries=(Nvml(gpus=8), Cuda(gpus=all_but(5)))), "gpu-missing-from-cuda", verdict="broken"
    ),
    "eight-nvml-lists-seven": ill(
        healthy(8, about="eight A100 in CUDA, seven in NVML", libraries=(Nvml(gpus=all_but(5)), Cuda(gpus=8))), COUNTED, verdict="unknown"
    ),
    "two-divided-cuda-shows-one-instance": replace(
        of(
            NvmlGpu(mig=(1, 1), mig_instances=[Mig(uuid="MIG-a")]), NvmlGpu(mig=(1, 1), mig_instances=[Mig(uuid="MIG-b")]),
            about="two A100 with a MIG instance each; CUDA shows the first one's alone", cuda={"gpus": 1},
        ),
        notes=("mig-one-instance-per-process",),
    ),
    "ubuntu-without-libcuda": ill(
        healthy(
            about="Ubuntu with the kernel driver and neither NVML nor libcuda", libraries=(),
            tree=Tree(pci=cards(1), kernel_driver="550.163.01", os_release='ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n'),
        ),
        "libcuda-not-installed", verdict="broken",
    ),
}  # fmt: skip

RECIPES: dict[str, Recipe] = {**LOST, **UNREACHED}
