"""The fields of NVML's section of a snapshot by path, found by walking its structs, and snapshots in which one of them has another value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import inspect

from gpudoctor.snapshot import (
    EccPlace,
    GpuPair,
    GpuProcess,
    Hang,
    Licence,
    LinkCount,
    MigInstance,
    Missing,
    Nvml,
    RackPlace,
    RetiredPages,
    Snapshot,
    Status,
)
from tests.machines import store

GPU: Final = "gpus.*."
FRESH: Final[Mapping[str, msgspec.Struct]] = {
    "gpus.*.mig_instances": MigInstance(0, uuid="MIG-1", memory_total=10 << 30, memory_free=10 << 30, memory_used=0, compute_processes=()),
    "gpus.*.mig_instances.*.compute_processes": GpuProcess(4711, memory=1 << 30, name="python3"),
    "gpus.*.compute_processes": GpuProcess(4711, memory=1 << 30, name="python3"),
    "gpus.*.graphics_processes": GpuProcess(4712, memory=1 << 20),
    "gpus.*.licences": Licence("NVIDIA Virtual Compute Server", enabled=True, licensed=True, seconds_left=9_000_000),
    "gpus.*.retired_pages": RetiredPages(0, 0, pending=False),
    "gpus.*.alarms": Status(11, "NVML_ERROR_IRQ_ISSUE", "nvmlDeviceGetName: Interrupt Request Issue"),
    "gpus.*.nvlinks.*.errors": LinkCount("rcv_errors", 0),
    "gpus.*.nvlinks.*.grown": LinkCount("rcv_errors", 0),
    "gpus.*.ecc_places": EccPlace("memory", 0, 0, 0, 0),
    "gpus.*.rack": RackPlace(0, 0, 0, 0, 0),
    "pairs": GpuPair(0, 1),
    "alarms": Status(15, "NVML_ERROR_GPU_IS_LOST", "nvmlDeviceGetCount: GPU is lost"),
    "hang": Hang("nvmlDeviceGetName 0", 30.0, uninterruptible=False),
}
"""What a list or section that is empty on the healthy machine gets when one of its fields is set."""


def healthy(gpus: int) -> Snapshot:
    """Return a healthy machine with eight B200, or with the first of them alone."""
    whole = store.recorded("blackwell-fabric-in-order")
    nvml: Any = whole.nvml
    linked = [
        msgspec.structs.replace(gpu, nvlinks=tuple(msgspec.structs.replace(link, speed=53_125, remote="switch") for link in gpu.nvlinks))
        for gpu in nvml.gpus[:gpus]
    ]
    pairs = tuple(pair for pair in nvml.pairs if pair.other < gpus)
    names = {f"/dev/nvidia{number}" for number in range(gpus, len(nvml.gpus))}
    gone = {gpu.address for gpu in nvml.gpus[gpus:]}
    parts: Any = whole
    return msgspec.structs.replace(
        whole,
        nvml=msgspec.structs.replace(nvml, gpus=tuple(linked), pairs=pairs),
        pci=_but(parts.pci, "devices", lambda one: one.address in gone),
        kernel_driver=_but(parts.kernel_driver, "gpus", lambda one: one.address in gone),
        device_nodes=_but(parts.device_nodes, "nodes", lambda one: one.path in names),
        libcuda=_but(parts.libcuda, "devices", lambda one: one.address in gone),
    )


def _but(section: Any, field: str, unwanted: Callable[[Any], bool]) -> Any:
    return msgspec.structs.replace(section, **{field: tuple(one for one in getattr(section, field) if not unwanted(one))})


class Leaf(NamedTuple):
    """A field that holds a value."""

    path: str
    """With a star for each item of a list."""
    owner: str
    """The struct that has it."""
    optional: bool
    """It can be missing."""


@cache
def leaves() -> tuple[Leaf, ...]:
    """Return every field of NVML's section that holds a value."""
    return tuple({leaf.path: leaf for leaf in _walk(inspect.type_info(Nvml), "", "", optional=False)}.values())


def _walk(kind: inspect.Type, path: str, owner: str, *, optional: bool) -> Iterator[Leaf]:
    if isinstance(kind, inspect.UnionType):
        missing = any(isinstance(one, inspect.StructType) and one.cls is Missing for one in kind.types)
        for one in kind.types:
            yield from _walk(one, path, owner, optional=missing)
    elif isinstance(kind, inspect.VarTupleType):
        yield from _walk(kind.item_type, f"{path}.*", owner, optional=False)
    elif not isinstance(kind, inspect.StructType):
        yield Leaf(path.removeprefix("."), owner, optional)
    elif kind.cls is not Missing:
        for field in kind.fields:
            yield from _walk(field.type, f"{path}.{field.name}", kind.cls.__name__, optional=False)


def with_state(snapshot: Snapshot, state: Mapping[str, Any], gpus: tuple[int, ...]) -> Snapshot:
    """Return the snapshot with these values, by path, on the GPUs of these places."""
    nvml: Any = snapshot.nvml
    for path, value in state.items():
        for gpu in gpus if path.startswith(GPU) else gpus[:1]:
            nvml = _put(nvml, path.split("."), "", value, gpu)
    return msgspec.structs.replace(snapshot, nvml=nvml)


def _put(whole: Any, path: list[str], before: str, value: Any, gpu: int) -> Any:
    if not path:
        return value
    if isinstance(whole, Missing) or whole == ():
        fresh = FRESH[before.removeprefix(".")]
        whole = (fresh,) if path[0] == "*" else fresh
    name, rest, here = path[0], path[1:], f"{before}.{path[0]}"
    if name != "*":
        return msgspec.structs.replace(whole, **{name: _put(getattr(whole, name), rest, here, value, gpu)})
    place = gpu if before == ".gpus" else 0
    return (*whole[:place], _put(whole[place], rest, here, value, gpu), *whole[place + 1 :])
