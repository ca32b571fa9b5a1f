"""Which GPUs no longer respond, by any observation: one that vanished during the check has most of its facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from gpudoctor.derive.gpus import Gpu
from gpudoctor.findings import Evidence
from gpudoctor.snapshot import Cause, Missing, Nvml, NvmlGpu, PciDevice, Refusals, Status
from gpudoctor.status_codes import LINK_WIDTHS, NvmlError

_NVML_LIBRARY = "libnvidia-ml.so.1"


@lru_cache(maxsize=128)  # the ladder and several rules ask, and it walks through all of NVML's answers
def off_bus_evidence(gpu: Gpu) -> tuple[Evidence, ...]:
    """Evidence that this GPU fell off the bus: NVML's "GPU is lost" to any call, or PCI registers that read as all ones."""
    return (*_nvml_loss_evidence(gpu), *all_ones_evidence(gpu))


def unresponsive_evidence(gpu: Gpu) -> tuple[Evidence, ...]:
    """Evidence that NVML barely reaches this GPU: interrupt trouble, or the same error from most calls."""
    if not isinstance(gpu.nvml, NvmlGpu):
        return ()
    interrupts = tuple(
        Evidence("NVML", f"{alarm.code} {alarm.text}", _NVML_LIBRARY) for alarm in gpu_alarms(gpu) if alarm.code == NvmlError.IRQ_ISSUE
    )
    refusals = _common_refusals(gpu)
    if refusals is None or refusals.code == NvmlError.NO_PERMISSION:
        return interrupts
    return (*interrupts, Evidence("failed NVML calls", f"{refusals.times} of {refusals.asked} with error {refusals.code}", _NVML_LIBRARY))


def is_forbidden(gpu: Gpu) -> bool:
    """Whether NVML denies this user most queries about this GPU, which says nothing about the GPU."""
    refusals = _common_refusals(gpu)
    return refusals is not None and refusals.code == NvmlError.NO_PERMISSION


def _common_refusals(gpu: Gpu) -> Refusals | None:
    """The error that most NVML calls about an opened GPU returned; None if there is none."""
    refusals = gpu.nvml.refusals if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.address, str) else None
    return refusals if isinstance(refusals, Refusals) and 2 * refusals.times > refusals.asked else None


def gpu_alarms(gpu: Gpu) -> tuple[Status, ...]:
    """NVML's errors about the GPU itself, from the examination and from training."""
    seen = gpu.nvml.alarms if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.alarms, tuple) else ()
    return (*seen, *gpu.alarms_under_load)


def is_lost_under_load(gpu: Gpu) -> bool:
    """Whether a GPU was lost during training: earlier results no longer count."""
    return any(status.code == NvmlError.GPU_IS_LOST for status in gpu.alarms_under_load)


def library_alarm(nvml: Nvml | Missing) -> str:
    """NVML's error from a call about no particular GPU that says one is lost or failing; otherwise empty."""
    seen = nvml.alarms if isinstance(nvml, Nvml) and isinstance(nvml.alarms, tuple) else ()
    return next((f"{status.code} {status.text}" for status in seen), "")


def _nvml_loss_evidence(gpu: Gpu) -> Iterator[Evidence]:
    if not isinstance(gpu.nvml, NvmlGpu):
        return
    answer = next((f"{alarm.code} {alarm.text}" for alarm in gpu_alarms(gpu) if alarm.code == NvmlError.GPU_IS_LOST), "")
    answer = answer or _loss_reason(gpu.nvml)
    if answer:
        yield Evidence("NVML", answer, _NVML_LIBRARY)


def _loss_reason(value: object) -> str:
    """The reason of the first missing value, at any depth, for which NVML lost the GPU; empty if there is none."""
    if isinstance(value, Missing):
        return value.reason if value.cause is Cause.LOST else ""
    parts: Iterable[object] = ()
    if isinstance(value, tuple):
        parts = value
    elif isinstance(value, msgspec.Struct):
        parts = msgspec.structs.astuple(
            value
        )  # not by name: to gpudoctor/changes/fields_read.py a field that is looked through is not one that is read
    for part in parts:
        if type(part) not in _PLAIN_TYPES and (reason := _loss_reason(part)):
            return reason
    return ""


_PLAIN_TYPES = frozenset((int, str, float, bool))


def all_ones_evidence(gpu: Gpu) -> Iterator[Evidence]:
    """Evidence that reads from this GPU return only ones."""
    place = f"/sys/bus/pci/devices/{gpu.key}"
    if isinstance(gpu.pci, PciDevice):
        if gpu.pci.answers is False:
            yield Evidence("PCI configuration space", "all ones", f"{place}/config")
        for width in (gpu.pci.link_width, gpu.pci.link_width_max):
            if isinstance(width, Missing) and width.cause is Cause.LOST:
                yield Evidence("PCI link", width.reason, place)
                break
    if isinstance(gpu.nvml, NvmlGpu):
        for width in (gpu.nvml.link_width, gpu.nvml.link_width_max):
            if isinstance(width, int) and width not in LINK_WIDTHS:
                yield Evidence("PCIe link width", f"x{width}, not a valid width", _NVML_LIBRARY)
                break
