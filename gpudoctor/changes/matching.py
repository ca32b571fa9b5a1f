"""Pairs the items of two lists: GPUs by PCI address, packages by name, libraries by the name that is loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from gpudoctor.snapshot import Missing, NvmlGpu

ITEM_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "AllReduce": ("devices", "p2p"),
    "Amd": ("target",),
    "Blocked": ("name", "where"),
    "CdiSpec": ("path",),
    "Compiler": ("name",),
    "CompiledStep": ("device",),
    "Copy": ("device", "direction", "pinned", "size"),
    "CudaCall": ("call",),
    "CudaContext": ("address", "ordinal"),
    "CudaDevice": ("address", "uuid", "ordinal"),
    "CudaFile": ("path",),
    "Damage": ("path",),
    "Distribution": ("name",),
    "Hollow": ("requirement",),
    "DkmsModule": ("name",),
    "DriverFile": ("path",),
    "EccPlace": ("place",),
    "Extension": ("distribution", "path"),
    "Fact": ("value",),
    "Framework": ("name",),
    "FrameworkLibraries": ("framework",),
    "GpuLoad": ("framework", "address"),
    "GpuPair": ("one", "other"),
    "GpuProcess": ("pid",),
    "Held": ("reasons",),
    "Kernel": ("device",),
    "LeftAlone": ("gpu",),
    "LibraryFile": ("path",),
    "LibraryUse": ("wanted", "component"),
    "Licence": ("product",),
    "LikeCause": ("cause",),
    "LinkCount": ("name",),
    "Major": ("name",),
    "MemoryRate": ("device", "size"),
    "MigInstance": ("place",),
    "ModuleFile": ("name",),
    "Node": ("path",),
    "NvLink": ("link",),
    "NvmlGpu": ("address", "uuid", "index"),
    "OverwrittenPackage": ("package", "where"),
    "Parameter": ("name",),
    "PciBar": ("number",),
    "PciDevice": ("address",),
    "Place": ("path",),
    "Preload": ("path",),
    "ProcGpu": ("address",),
    "Product": ("device", "precision", "size"),
    "Reading": ("reader", "file"),
    "RefusedVariable": ("name",),
    "Reported": ("code", "where"),
    "Smoke": ("framework",),
    "SmokeDevice": ("name",),
    "Speed": ("device", "network"),
    "Stage": ("kind", "network", "device"),
    "StageLoad": ("stage", "network"),
    "Status": ("code",),
    "StuckProcess": ("pid",),
    "Sum": ("size",),
    "Supposed": ("what",),
    "SystemPackage": ("name",),
    "Toolkit": ("path",),
    "Training": ("device", "network"),
    "XidEvent": ("code", "address"),
    "UnfitModule": ("module", "path"),
    "UnresolvedSymbol": ("needed_by", "library"),
    "Unread": ("what",),
}
"""What an item of a list is known by: these fields together, or for a GPU the first of them that is known."""
GPU_TYPES: Final = frozenset({"NvmlGpu", "CudaDevice", "CudaContext"})
ItemPair = tuple[str, Any, Any]
"""An item's key, and the item before and after; None on the side that lacks it."""


class ItemNames:
    """What the items of one snapshot's lists are called."""

    def __init__(self, gpus: Sequence[NvmlGpu]) -> None:
        self._addresses = {gpu.index: gpu.address for gpu in gpus if isinstance(gpu.address, str)}

    def of(self, items: Sequence[msgspec.Struct]) -> dict[str, msgspec.Struct]:
        """Return the items by key; the second of a key is "KEY#2"."""
        seen: Counter[str] = Counter()
        named = {}
        for item in items:
            key = self._key(item)
            seen[key] += 1
            named[key if seen[key] == 1 else f"{key}#{seen[key]}"] = item
        return named

    def _key(self, item: msgspec.Struct) -> str:
        kind = type(item).__name__
        values = [getattr(item, name) for name in ITEM_KEYS[kind]]
        if kind in GPU_TYPES:
            return str(next(value for value in values if not isinstance(value, Missing)))
        if kind == "GpuPair":
            values = [self._addresses.get(value, value) for value in values]
        return "-".join(str(value) for value in values if not isinstance(value, Missing))


def item_pairs(before: Sequence[Any], after: Sequence[Any], earlier: ItemNames, later: ItemNames) -> Iterator[ItemPair]:
    """Yield the items of two lists side by side, by key."""
    same = Counter(before) & Counter(after)
    old, new = earlier.of(_items_without(before, same)), later.of(_items_without(after, same))
    lost, found = [key for key in old if key not in new], [key for key in new if key not in old]
    moved = dict(_moved_items(old, new, lost, found))
    both = [(min(key, moved.get(key, key)), old[key], new[moved.get(key, key)]) for key in old if key in new or key in moved]
    gone = [(key, old[key], None) for key in lost if key not in moved]
    come = [(key, None, new[key]) for key in found if key not in moved.values()]
    yield from sorted([*both, *gone, *come], key=lambda pair: pair[0])


def _items_without(items: Sequence[Any], same: Counter[Any]) -> list[Any]:
    """Return the items of a list that the other list does not hold too."""
    left, kept = same.copy(), []
    for item in items:
        left[item] -= 1
        if left[item] < 0:
            kept.append(item)
    return kept


def _moved_items(old: dict[str, Any], new: dict[str, Any], lost: Sequence[str], found: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the keys of items that only changed their key: a GPU in another slot, a renamed file."""
    free = list(found)
    for same in (_item_uuid, _item_index, _values_without_key):
        taken: set[str] = set()
        for key in lost:
            match = next((other for other in free if same(old[key]) is not None and same(old[key]) == same(new[other])), None)
            if match is not None:
                free.remove(match)
                taken.add(key)
                yield key, match
        lost = [key for key in lost if key not in taken]


def _item_uuid(item: msgspec.Struct) -> object:
    uuid = getattr(item, "uuid", None)
    return uuid if isinstance(uuid, str) else None


def _item_index(item: msgspec.Struct) -> object:
    """Return the number of a GPU that could be opened on one side only: lost ones have no address."""
    return item.index if isinstance(item, NvmlGpu) else None


def _values_without_key(item: msgspec.Struct) -> object:
    """Return what an item holds beside its key."""
    own = ITEM_KEYS[type(item).__name__]
    return [getattr(item, name) for name in item.__struct_fields__ if name not in own]
