"""GPUs by model, and what a smoke training showed of them."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive import MachineView
from gpudoctor.derive.code import Meeting
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import Missing, Smoke


def _models(meetings: Iterable[Meeting]) -> list[list[Meeting]]:
    """The GPUs of one product together."""
    found: dict[str, list[Meeting]] = {}
    for one in meetings:
        found.setdefault(_named([one]), []).append(one)
    return list(found.values())


def _named(model: list[Meeting]) -> str:
    gpu = model[0].gpu
    return gpu.name if isinstance(gpu.name, str) else gpu.label


def _capability(model: list[Meeting]) -> Evidence:
    others = f" and {len(model) - 1} more" if len(model) > 1 else ""
    return Evidence("compute capability", str(model[0].capability), f"{model[0].gpu.label}{others}")


def _smokes(machine: MachineView) -> tuple[Smoke, ...]:
    return () if isinstance(machine.observed.smoke, Missing) else machine.observed.smoke
