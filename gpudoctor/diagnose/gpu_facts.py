"""How rules about a GPU's state read NVML's facts, and the fixes that several of them offer."""

from __future__ import annotations

from typing import TypeVar

from gpudoctor import versions
from gpudoctor.derive import Driver, Gpu, Ladder, Site
from gpudoctor.derive.lost_gpus import alarms
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.rule import need, not_applicable
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Rung, RungState, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, CudaDevice, KernelLog, Missing, Nvml, NvmlGpu, Status, XidEvent
from gpudoctor.versions import Version

T = TypeVar("T")
_DESKTOP = ("geforce", "titan", "quadro", "rtx", "nvs ", "laptop", "max-q")
MIB, GIB = 1 << 20, 1 << 30


def known(gpu: Gpu) -> NvmlGpu:
    """What NVML says of this GPU; ends the rule where it says nothing."""
    if gpu.set_aside:
        not_applicable("bound to vfio-pci: set aside for a guest")
    return need(gpu.nvml, Rung.NVML)


def offered(value: T | Missing) -> T:
    """`value`; not offering it is this GPU's or driver's nature, any other absence is ignorance."""
    if isinstance(value, Missing) and value.cause is Cause.UNSUPPORTED:
        not_applicable(value.reason)
    return need(value, Rung.NVML)


def supposed_capability(gpu: Gpu) -> Version | None:
    """The compute capability of a GPU that is only supposed; None of one that was observed, or where it was not stated."""
    if not isinstance(gpu.nvml, NvmlGpu) or isinstance(gpu.nvml.address, str) or gpu.nvml.address.cause is not Cause.NOT_STATED:
        return None
    return versions.parse(gpu.nvml.compute_capability) if isinstance(gpu.nvml.compute_capability, str) else None


def first_branch(gpu: Gpu, driver: Driver, matrix: Matrix) -> int | None:
    """The oldest branch that drives a supposed GPU, where the driver is of an older one; else None, and where that is not known."""
    capability, row = supposed_capability(gpu), matrix.driver(driver.version)
    if capability is None or row is None or row.newest_capability is None or capability <= row.newest_capability:
        return None
    return matrix.branches_for(capability)[0]


def alarm(gpu: Gpu, nvml: Nvml, code: int) -> Status | None:
    """NVML's answer `code`, to any call about this GPU or, where it did not start at all, to its first."""
    if isinstance(nvml.init, Status) and nvml.init.code == code:
        return nvml.init
    need(known(gpu).alarms, Rung.NVML)
    return next((one for one in alarms(gpu) if one.code == code), None)


def logged(gpu: Gpu, log: KernelLog | Missing, *codes: int) -> tuple[XidEvent, ...]:
    """The Xids of these codes that the kernel logged about this GPU since the boot; none where the log cannot be read."""
    events = log.events if isinstance(log, KernelLog) else ()
    return tuple(event for event in events if event.address == gpu.key and event.code in codes and not event.switch)


def as_evidence(events: tuple[XidEvent, ...], log: KernelLog | Missing) -> tuple[Evidence, ...]:
    """The last of these events, as evidence."""
    where = log.where if isinstance(log, KernelLog) else ""
    return tuple(Evidence(f"Xid {event.code}", event.text[:120], where) for event in events[-1:])


def sure(gpu: Gpu, others: int) -> Confidence:
    """How sure it is that an alarm is of this GPU: one that NVML gave when it started may be of any."""
    return Confidence.CERTAIN if isinstance(gpu.nvml, NvmlGpu) or not others else Confidence.POSSIBLE


def milder(ladder: Ladder, gpu: Gpu) -> Severity | None:
    """Only a warning where a kernel ran on this GPU all the same: it can be used, and is at risk."""
    return Severity.WARNING if ladder.proven(gpu.key, Rung.KERNEL_RAN) else None


def unless_it_failed(ladder: Ladder, gpu: Gpu) -> Severity | None:
    """A warning, unless this GPU was seen to fail at computing: then what endangers it is why."""
    failed = any(ladder.state(gpu.key, rung) is RungState.FAILED for rung in (Rung.KERNEL_RAN, Rung.TRAINED))
    return None if failed else Severity.WARNING


def hidden(gpu: Gpu) -> bool:
    """Whether CUDA_VISIBLE_DEVICES keeps programs off this GPU."""
    return isinstance(gpu.cuda, Missing) and isinstance(gpu.cuda_unmasked, CudaDevice)


def links_up(gpu: Gpu) -> int:
    """How many of its NVLinks are up, as far as NVML says."""
    links = gpu.nvml.nvlinks if isinstance(gpu.nvml, NvmlGpu) else ()
    return 0 if isinstance(links, Missing) else sum(link.active is True for link in links)


def for_data_centres(name: str | Missing) -> bool:
    """Whether this is a product for servers, by its name."""
    return isinstance(name, str) and not any(word in name.lower() for word in _DESKTOP)


def reset(gpu: Gpu, site: Site) -> Fix:
    """How to reset this GPU here."""
    if site.container:
        return Fix("Have the host's administrator reset the GPU; a container cannot.")
    return Fix(
        "End what runs on the GPU and reset it (with NVSwitches: all GPUs at once, without -i); where a reset is not supported, reboot",
        f"sudo nvidia-smi --gpu-reset -i {gpu.key}",
        (ROOT,),
    )


def replace(what: str = "", kind: FixKind = FixKind.FIX) -> Fix:
    """Hardware that fails for good."""
    text = what or "Replace the card"
    evidence = "NVIDIA's field diagnostic or `dcgmi diag -r 3` gives what a warranty claim asks for"
    return Fix(f"{text}; {evidence}.", needs=(ROOT, REBOOT), kind=kind if what else FixKind.ELSE)
