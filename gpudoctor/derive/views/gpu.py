"""What a rule about one GPU sees."""

from __future__ import annotations

from gpudoctor import versions
from gpudoctor.derive.gpu_code import compute_capability, missing_capability
from gpudoctor.derive.gpus import Gpu
from gpudoctor.derive.libcuda import failed_call
from gpudoctor.derive.lost_gpus import off_bus_evidence, unresponsive_evidence
from gpudoctor.derive.rule_endings import CouldNotTell, not_applicable, require_known
from gpudoctor.derive.views.gpu_nvml import NvmlGpuView
from gpudoctor.derive.views.view import Field, Section
from gpudoctor.derive.xids import OFF_THE_BUS
from gpudoctor.findings import Evidence, Rung, RungState, Severity, Subject
from gpudoctor.snapshot import (
    NOT_ASKED,
    Cause,
    CudaCall,
    CudaContext,
    CudaDevice,
    KernelLog,
    Missing,
    Node,
    NvmlGpu,
    PciDevice,
    ProcGpu,
    XidEvent,
    is_absent,
)
from gpudoctor.versions import Version

_DESKTOP_WORDS = ("geforce", "titan", "quadro", "rtx", "nvs ", "laptop", "max-q")
_LAPTOP_WORDS = ("laptop", "max-q", "mobile")


def is_server_product(name: str | Missing) -> bool:
    """Whether a product name is that of a server GPU."""
    return isinstance(name, str) and not any(word in name.lower() for word in _DESKTOP_WORDS)


class GpuView(NvmlGpuView):
    """One GPU, with the machine it is in."""

    observed: Gpu

    pci = Section[PciDevice](Rung.SLOT)
    proc = Section[ProcGpu](Rung.KERNEL_DRIVER)
    node = Section[Node](Rung.DEVICE_NODE)
    cuda = Section[CudaDevice](Rung.LIBCUDA)
    cuda_unmasked = Section[CudaDevice](Rung.LIBCUDA)
    name = Section[str](Rung.NVML)

    kernel_right = Field[bool]("context", Rung.KERNEL_RAN)

    @property
    def key(self) -> str:
        """The PCI address, or a substitute."""
        return self.observed.key

    @property
    def selector(self) -> str:
        """What nvidia-smi takes for it after -i."""
        return self.observed.selector

    @property
    def label(self) -> str:
        """Return its index and address: "GPU 3 (0000:1f:00.0)"."""
        return self.observed.label

    @property
    def model(self) -> str:
        """Its product name, or its label if unknown."""
        return self.observed.name if isinstance(self.observed.name, str) else self.label

    @property
    def subject(self) -> Subject:
        """What a finding about this GPU is about."""
        return self.observed.subject

    @property
    def has_vanished(self) -> bool:
        """Whether NVML no longer lists this GPU and the kernel logged that it fell off the bus."""
        seen = self.observed.nvml
        return is_absent(seen) and bool(self.xids(OFF_THE_BUS))

    @property
    def off_bus_evidence(self) -> tuple[Evidence, ...]:
        """Evidence that this GPU fell off the bus; without any, ends the rule for a GPU that NVML did not open and that has not vanished."""
        signs = off_bus_evidence(self.observed)
        seen = self.observed.nvml
        if signs or self.has_vanished:
            return signs
        if isinstance(seen, Missing):
            not_applicable("NVML does not list it")
        return signs if require_known(seen.address, Rung.NVML) else ()

    @property
    def unresponsive_evidence(self) -> tuple[Evidence, ...]:
        """Evidence that NVML gets errors from this GPU.

        The rule does not apply to a GPU off the bus. Without evidence, ends the rule if errors were not counted.
        """
        if off_bus_evidence(self.observed):
            not_applicable("it fell off the bus")
        signs = unresponsive_evidence(self.observed)
        if not signs and isinstance(self.nvml.refusals, Missing):
            raise CouldNotTell(self.nvml.refusals, Rung.NVML)
        return signs

    @property
    def capability_or_missing(self) -> Version | Missing:
        """The compute capability, or why it is unknown."""
        return compute_capability(self.observed, self.machine.matrix) or missing_capability(self.observed)

    @property
    def capability(self) -> Version:
        """The compute capability; ends the rule if unknown."""
        return require_known(self.capability_or_missing, Rung.NVML)

    @property
    def supposed_capability(self) -> Version | None:
        """The compute capability of a described GPU; None for an observed one, or if it was not stated."""
        stated = self.observed.nvml
        if not isinstance(stated, NvmlGpu) or isinstance(stated.address, str) or stated.address.cause is not Cause.NOT_STATED:
            return None
        return versions.parse_version(stated.compute_capability) if isinstance(stated.compute_capability, str) else None

    @property
    def needed_branch(self) -> int | None:
        """The oldest driver branch that supports a described GPU; None if this driver does, or if unknown."""
        capability, driver = self.supposed_capability, self.machine.driver_or_missing
        if capability is None or isinstance(driver, Missing):
            return None
        row = self.machine.matrix.deciding_branch(driver.version, capability)
        if row is None or not self.machine.matrix.predates(row, capability):
            return None
        return self.machine.matrix.branches_for(capability)[0]

    @property
    def is_bound_by_nvidia(self) -> bool:
        """Whether the NVIDIA driver has bound this GPU, or NVML opened it."""
        return self.is_opened or isinstance(self.observed.proc, ProcGpu)

    @property
    def is_in_laptop(self) -> bool:
        """Whether this is a laptop's GPU, by its name."""
        name = self.observed.name
        return isinstance(name, str) and any(word in name.lower() for word in _LAPTOP_WORDS)

    @property
    def context_or_missing(self) -> CudaContext | Missing:
        """The result of our kernel on this GPU."""
        contexts = self.machine.observed.contexts
        if isinstance(contexts, Missing):
            return contexts
        context = next((context for context in contexts if context.address == self.key), None)
        if context is None:
            return Missing(NOT_ASKED.cause, "CUDA does not show this GPU")
        return Missing(NOT_ASKED.cause, context.skipped) if context.skipped else context

    @property
    def context(self) -> CudaContext:
        """The result of our kernel on this GPU; ends the rule if it did not run."""
        return require_known(self.context_or_missing, Rung.LIBCUDA)

    @property
    def failed_call(self) -> CudaCall | None:
        """The first call of our kernel that failed; None if it ran. Ends the rule if unknown."""
        call = failed_call(self.context)
        if call is None:
            require_known(self.context.kernel_right, Rung.KERNEL_RAN)
        return call

    @property
    def has_run_kernel(self) -> bool:
        """Whether our kernel ran on this GPU."""
        return self.proven(Rung.KERNEL_RAN)

    @property
    def has_failed_computing(self) -> bool:
        """Whether a kernel or a training run failed on this GPU."""
        return any(self.machine.ladder.state(self.key, rung) is RungState.FAILED for rung in (Rung.KERNEL_RAN, Rung.TRAINED))

    def proven(self, rung: Rung) -> bool:
        """Whether this GPU reached a stage."""
        return self.machine.ladder.proven(self.key, rung)

    @property
    def error_unless_kernel_ran(self) -> Severity | None:
        """A warning if a kernel ran on this GPU; otherwise None, the rule's own severity."""
        return Severity.WARNING if self.has_run_kernel else None

    @property
    def warning_unless_failed(self) -> Severity | None:
        """A warning, unless this GPU failed at computing: then the rule's own severity."""
        return None if self.has_failed_computing else Severity.WARNING

    @property
    def hidden(self) -> bool:
        """Whether CUDA_VISIBLE_DEVICES hides this GPU."""
        return isinstance(self.observed.cuda, Missing) and isinstance(self.observed.cuda_unmasked, CudaDevice)

    @property
    def usable(self) -> bool:
        """Whether programs may use this GPU: it is neither hidden nor bound to vfio-pci."""
        return not self.observed.is_passed_through and not self.hidden

    def xids(self, *codes: int) -> tuple[XidEvent, ...]:
        """The Xids of these codes logged for this GPU since boot; empty if the kernel log cannot be read."""
        log = self.machine.observed.kernel_log
        events = log.events if isinstance(log, KernelLog) else ()
        return tuple(event for event in events if event.address == self.key and event.code in codes and not event.switch)

    @property
    def siblings(self) -> tuple[GpuView, ...]:
        """The other GPUs of the machine."""
        return tuple(gpu for gpu in self.machine.gpus if gpu.key != self.key)

    @property
    def same_model(self) -> tuple[GpuView, ...]:
        """The other GPUs of this product; empty if its name is unknown."""
        return tuple(gpu for gpu in self.siblings if isinstance(gpu.observed.name, str) and gpu.observed.name == self.observed.name)
