"""Takes the measured figures out of a snapshot: rates, step times, and NVML's samples during training.

A figure is a number that changes by itself (`snapshot/volatile.py`) and that is called as one of KINDS.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec

from gpudoctor.changes.matching import ITEM_KEYS
from gpudoctor.snapshot import Loads, Snapshot, Span
from gpudoctor.snapshot.volatile import VOLATILE


class FigureKind(msgspec.Struct, frozen=True):
    """What the numbers of one name are."""

    unit: str
    floor: float
    """The smallest difference from the median that counts, as a part of it."""
    low_is_worse: bool = True
    words: str = ""
    """What NVML sampled."""


_RATE_FLOOR: Final = 0.03
FIGURE_KINDS: Final = {
    "samples_per_second": FigureKind("images/s", _RATE_FLOOR),
    "cpu_samples_per_second": FigureKind("images/s", 0.1),
    "bytes_per_second": FigureKind("B/s", _RATE_FLOOR),
    "bus_bytes_per_second": FigureKind("B/s", _RATE_FLOOR),
    "flops": FigureKind("FLOP/s", _RATE_FLOOR),
    "step_seconds": FigureKind("s", _RATE_FLOOR, low_is_worse=False),
    "clock_sm": FigureKind("MHz", _RATE_FLOOR, words="SM clock"),
    "clock_memory": FigureKind("MHz", _RATE_FLOOR, words="memory clock"),
    "temperature": FigureKind("°C", 0.15, low_is_worse=False, words="temperature"),
}
"""By the field: wherever a snapshot gains a figure of such a name, it is compared."""
_MEASURED_NAMES: Final = {
    "CompiledStep": "compiled step",
    "Copy": "copy",
    "MemoryRate": "memory",
    "Product": "matmul",
    "Speed": "training speed",
    "Sum": "all-reduce",
    "Training": "training",
}
_PLACE_KEYS: Final = frozenset({"device", "devices", "address"})
"""Keys that say where, not what."""


class FigureKey(msgspec.Struct, frozen=True):
    """Which figure it is; the figures of one key are compared with each other."""

    model: str
    """The GPU's, or those of the node's GPUs if the figure is about the whole node."""
    framework: str
    struct: str
    field: str
    details: tuple[Any, ...]
    """What else tells it from others: precision and size."""

    @property
    def kind(self) -> FigureKind:
        """What its numbers are."""
        return FIGURE_KINDS[self.field]

    @property
    def name(self) -> str:
        """What was measured, in words."""
        measured = self.kind.words or _MEASURED_NAMES.get(self.struct, self.struct)
        on = "on the CPU" if self.field.startswith("cpu_") else ""
        return " ".join(filter(None, (self.framework, measured, on, *map(_detail_text, self.details))))


MeasuredFigure = tuple[FigureKey, str, float]
"""A figure, the address of the GPU that it is about or "", and the number."""


def figures_of_snapshot(snapshot: Snapshot, models: str) -> Iterator[MeasuredFigure]:
    """Yield the figures of a snapshot; `models` are those of the node's GPUs."""
    known = _models_by_address(snapshot)
    for smoke in snapshot.smoke if isinstance(snapshot.smoke, tuple) else ():
        framework = f"{smoke.framework} {smoke.version}" if isinstance(smoke.version, str) else smoke.framework
        for item in _measured_items(smoke):
            address = getattr(item, "address", "")
            yield from _figures_of_item(item, framework, address if isinstance(address, str) else "", known, models)
    for gpu in snapshot.loads.gpus if isinstance(snapshot.loads, Loads) else ():
        for stage in gpu.stages:
            yield from _figures_of_item(stage, gpu.framework, gpu.address, known, models)


def _models_by_address(snapshot: Snapshot) -> dict[str, str]:
    """Return the GPUs' models by address."""
    return {gpu.address: gpu.name for gpu in snapshot.listed_gpus if isinstance(gpu.address, str) and isinstance(gpu.name, str)}


def _measured_items(holder: msgspec.Struct) -> Iterator[msgspec.Struct]:
    """Yield what was measured, at any depth: an all-reduce holds its sums."""
    for name in holder.__struct_fields__:
        value = getattr(holder, name)
        if type(value) is tuple and value and isinstance(value[0], msgspec.Struct):
            for item in value:
                yield item
                if type(item).__name__ == "AllReduce":
                    yield from _measured_items(item)


def _figures_of_item(item: msgspec.Struct, framework: str, address: str, known: dict[str, str], models: str) -> Iterator[MeasuredFigure]:
    fields, details = _figure_fields(type(item))
    for name in fields:
        number = getattr(item, name)
        number = number.median if isinstance(number, Span) else number
        if isinstance(number, int | float) and number > 0:
            place = "" if name.startswith("cpu_") else address
            device = () if address else (getattr(item, "device", ""),)  # a CPU's training is not compared with a GPU's
            told = (*[getattr(item, detail) for detail in details], *device)
            yield FigureKey(known.get(place, models), framework, type(item).__name__, name, told), place, number


@cache
def _figure_fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the figures of a struct, and the fields that tell one of its kind from another."""
    volatile = VOLATILE.get(kind, frozenset())  # type: ignore[arg-type]
    names = tuple(name for name in kind.__struct_fields__ if name in volatile and name in FIGURE_KINDS)
    return names, tuple(name for name in ITEM_KEYS.get(kind.__name__, ()) if name not in _PLACE_KEYS)


def _detail_text(detail: object) -> str:
    """Return a detail in words: 8192, 1 GiB, pinned."""
    if isinstance(detail, bool):
        return "pinned" if detail else "pageable"
    if isinstance(detail, int) and detail >= 1 << 20 and detail % (1 << 20) == 0:
        return f"{detail >> 30} GiB" if detail % (1 << 30) == 0 else f"{detail >> 20} MiB"
    return str(detail)
