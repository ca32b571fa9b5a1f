"""What a recipe is, and the machines that most recipes vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tests.machines.packages import Package, tensorflow
from tests.seams import Cuda, Nvml, NvmlGpu, PciCard, Tree

Library: TypeAlias = Nvml | Cuda

INTEL = PciCard(address="0000:00:02.0", vendor=0x8086, device=0x9A49, pci_class=0x030000, driver="i915", link_gen=None, link_width=None)
TF = tensorflow("2.18.0", "12.5.1", "9")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A machine. `roots` are the root causes in order, `folded` what must appear beneath one, `notes` the expected notes."""

    about: str
    tree: Tree
    libraries: Sequence[Library] = ()
    packages: tuple[Package, ...] = (TF,)
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables; {place} is the folder of the machine's root and the examined environment."""
    arguments: Sequence[str] = ("--level", "look")
    obeys_permissions: bool = False
    trains: bool = False
    """Examine the tests' own environment, which has a real TensorFlow."""
    patch: str = ""
    """Executed before the smoke training, to break its framework."""
    verdict: str
    roots: Sequence[str] = ()
    folded: Sequence[str] = ()
    notes: Sequence[str] = ()


def healthy(gpus: int = 1, **changes: object) -> Recipe:
    """A server with A100s, driver 550 and TensorFlow, healthy without running a kernel."""
    nvml = Nvml(gpus=gpus)
    whole = Recipe(
        about=f"{gpus} A100, driver 550.163.01, TensorFlow 2.18.0: all in order",
        tree=Tree(pci=[PciCard.of(card) for card in nvml.cards], kernel_driver="550.163.01"),
        libraries=(nvml, Cuda(gpus=nvml.gpus)),
        verdict="ready",
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def cards(gpus: int, driver: str | None = "nvidia") -> list[PciCard]:
    return [replace(PciCard.of(card), driver=driver) for card in Nvml(gpus=gpus).cards]


def all_but(missing: int) -> list[NvmlGpu]:
    """Eight cards without address, each still in its own slot."""
    return [card for index, card in enumerate(Nvml(gpus=8).cards) if index != missing]


def lost_of_eight() -> Recipe:
    lost = {"nvmlDeviceGetHandleByIndex.3": "return 15"}
    return healthy(
        8,
        about="eight A100; NVML cannot open the fourth: GPU is lost",
        libraries=(Nvml(gpus=8, calls=lost), Cuda(gpus=all_but(3))),
        verdict="broken",
        roots=("gpu-fell-off-bus",),
        folded=("gpu-count-mismatch",),
    )


NOT_LOADED = (Nvml(gpus=1, calls={"nvmlInit": "return 9"}), Cuda(gpus=1, calls={"cuInit": "return 100"}))
"""The libraries of a driver whose kernel module is not loaded."""


def on_cpu(**changes: object) -> Recipe:
    """A laptop without NVIDIA hardware whose TensorFlow really trains."""
    whole = Recipe(
        about="",
        tree=Tree(pci=[INTEL]),
        arguments=("--level", "train", "--allow-cpu"),
        trains=True,
        notes=("no-gpu",),
        verdict="ready",
    )
    return replace(whole, **changes)  # type: ignore[arg-type]
