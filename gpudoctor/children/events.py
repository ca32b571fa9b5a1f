"""The events of each probe script, one struct each. Required fields are in every answer.

Annotations are not postponed, as in gpudoctor/snapshot/driver.py.
"""

from typing import Annotated, Any

import msgspec

from gpudoctor.children.channel import Crashed, Done
from gpudoctor.snapshot import (
    CudaCall,
    CudaContext,
    CudaDevice,
    Extension,
    Fact,
    FrameworkLibraries,
    Libcuda,
    Missing,
    Nvml,
    NvmlGpu,
    Status,
)
from gpudoctor.snapshot.xray import File

Digits = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{2})*$")]
"""Bytes in hexadecimal."""


class ProbeEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    """Base of the events that are not part of a snapshot."""


class DeviceCount(ProbeEvent, tag="count", frozen=True):
    """How many devices the library counts, whatever else it answers."""

    count: int


class Unable(ProbeEvent, tag="unable", frozen=True):
    """Why this interpreter cannot query at all."""

    reason: str


class KernelResult(ProbeEvent, tag="kernel-result", frozen=True):
    """What our own kernel computed."""

    elements: int
    wrong: int
    first_wrong: str | Missing
    kernel_right: bool


class Stopped(ProbeEvent, tag="stopped", frozen=True):
    """The call after which the script could not continue."""

    refused: Missing


class PythonReport(ProbeEvent, tag="python", frozen=True):
    """An interpreter's report about itself."""

    process: tuple[int, int, int]
    """Its pid, its parent's and its session's."""
    executable: str
    """Empty if unknown."""
    version: str
    implementation: str
    bits: int
    machine: str
    libc: str | Missing
    prefix: str
    base_prefix: str
    kind: str
    headers: Fact | Missing
    path: tuple[str, ...]
    path_hex: tuple[Digits, ...] = ()
    """The bytes of the entries of `path`, if some are escaped."""


class InsideReport(ProbeEvent, tag="inside", frozen=True):
    """What only a process of the interpreter knows, bytes as hexadecimal digits; parts that it cannot read are left out."""

    imports: dict[str, tuple[Digits, ...]] = {}
    variables: dict[str, Digits] | None = None
    environ: dict[str, Digits] | None = None
    started: tuple[Digits, ...] = ()
    shadowing: dict[str, Digits] = {}
    lacking: tuple[str, ...] = ()
    mapped: tuple[Digits, ...] = ()
    executable_hex: Digits = ""


class Preloaded(ProbeEvent, tag="libraries", frozen=True):
    """LD_PRELOAD, in order."""

    preloaded: tuple[str, ...]


class UnreadFile(ProbeEvent, tag="unread-file", frozen=True):
    """A file that could not be examined, and why."""

    path: str
    problem: str


class Pids(ProbeEvent, tag="pids", frozen=True):
    """Whether process ids here are those of the whole machine."""

    of_host: bool | Missing


class RefusedFields(ProbeEvent, tag="refused", frozen=True):
    """What a GPU does not report."""

    gpu: int
    fields: dict[str, Missing]


class Alarmed(ProbeEvent, tag="alarmed", frozen=True):
    """Errors about the GPU itself."""

    gpu: int
    alarms: tuple[Status, ...]


def part(kind: type[msgspec.Struct], *required: str, without: tuple[str, ...] = ()) -> type[msgspec.Struct]:
    """The event with some fields of a snapshot section, each with its own type; `required` are in every such event."""
    fields: list[Any] = [
        (field.name, field.type) if field.name in required else (field.name, field.type | msgspec.UnsetType, msgspec.UNSET)
        for field in msgspec.structs.fields(kind)
        if field.name not in without
    ]
    tag = kind.__struct_config__.tag
    return msgspec.defstruct(
        f"{kind.__name__}Part", fields, kw_only=True, frozen=True, tag_field="type", tag=tag, forbid_unknown_fields=True
    )


def said(event: msgspec.Struct) -> dict[str, Any]:
    """The fields of an event."""
    unset = msgspec.UNSET
    # not asdict: of a GPU's eighty fields each event sets a few
    fields = zip(event.__struct_fields__, msgspec.structs.astuple(event), strict=True)
    return {name: value for name, value in fields if value is not unset}


def known(events: tuple[msgspec.Struct, ...]) -> dict[str, Any]:
    """The fields of several events together; later ones win."""
    return {name: value for event in events for name, value in said(event).items()}


NvmlPart, NvmlGpuPart = part(Nvml, without=("hang",)), part(NvmlGpu, "index")
LibcudaPart, CudaDevicePart = part(Libcuda, without=("hang",)), part(CudaDevice, "ordinal")
ContextPart = part(CudaContext, without=("ordinal", "address", "skipped", "calls", "hang", *KernelResult.__struct_fields__))
ReadFile = part(File, *(name for name in File.__struct_fields__ if name != "problem"))

NVML = (NvmlPart, NvmlGpuPart, DeviceCount, Missing, Crashed, Done)
LIBCUDA = (LibcudaPart, CudaDevicePart, DeviceCount, Missing, Unable, Crashed, Done)
CONTEXT = (CudaCall, ContextPart, KernelResult, Stopped, Missing, Unable, Crashed, Done)
PYTHON = (PythonReport, InsideReport, Crashed)
LIBRARIES = (FrameworkLibraries, Extension, Preloaded, Missing, Crashed, Done)
FILES = (ReadFile, UnreadFile, Crashed, Done)
