"""GPUs that the installed driver has not bound, and whether its branch or flavour is the reason."""

import msgspec

from gpudoctor.derive import CouldNotTell, GpuView, not_applicable, require_known
from gpudoctor.derive.views.kernel import GUEST_DRIVERS
from gpudoctor.diagnose.advice.kernel_log import kernel_log_evidence
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.diagnose.rule import DRIVER_NOT_LOADED, Explains, Join
from gpudoctor.findings import Confidence, Evidence, Fix, Rung
from gpudoctor.matrix import DriverBranch
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import Cause, Missing, PciDevice
from gpudoctor.versions import Version

UNSUPPORTED_GPU_EXPLAINS = (
    Explains(
        (*DRIVER_NOT_LOADED, "nouveau-loaded", "kernel-module-not-built"),
        "A driver that supports none of the GPUs unloads, and nouveau binds them.",
    ),
    Explains(("gpu-count-mismatch",), "NVML does not list a GPU that the driver ignores.", Join.GPU),
)
"""What follows where the driver does not support a GPU."""
_NO_BOUNDS = Missing(Cause.NOT_STATED, "the tables do not say which GPUs this branch supports")
_READ_LOG = read_log("NVRM: (The NVIDIA GPU|.*(nvidia|driver))", "Read the driver's messages about the GPU")


class UndrivenGpu(msgspec.Struct, frozen=True):
    """A GPU that the installed NVIDIA driver has not bound, or that was only described."""

    name: str
    capability: Version
    driver: Version
    flavour: str
    """The kernel modules: open, proprietary, or empty if not known."""
    row: DriverBranch | None
    evidence: tuple[Evidence, ...]
    is_too_new: bool = False
    """Whether the branch is older than the GPU."""

    @property
    def branch(self) -> int:
        """The branch that decides: the driver's own, or a neighbour in the tables."""
        return self.row.branch if self.row else self.driver.major

    @property
    def oldest(self) -> Version | None:
        """The oldest compute capability that the branch supports; None where that is not known."""
        return self.row.oldest_capability if self.row else None

    @property
    def newest(self) -> Version | None:
        """The newest compute capability that the branch supports; None where that is not known."""
        return self.row.newest_capability if self.row else None


def undriven_gpu(gpu: GpuView) -> UndrivenGpu | None:
    """Return the GPU and the installed driver; None where the driver has bound the GPU. Ends the rule where either is not known."""
    machine, capability, pci = gpu.machine, gpu.supposed_capability, gpu.observed.pci
    if capability is not None:
        seen = Evidence("GPU", f"{gpu.label}, compute capability {capability}", "as described")
        return _undriven_gpu_of_driver(gpu, gpu.label, capability, seen, machine.kernel.installed_release)
    if isinstance(pci, Missing) and pci.cause is Cause.NOT_STATED:
        raise CouldNotTell(pci, Rung.KERNEL_DRIVER)
    if not machine.site.has_pci or machine.site.container or not isinstance(pci, PciDevice) or pci.driver in GUEST_DRIVERS:
        not_applicable("this GPU needs no kernel driver on this machine")
    if gpu.is_bound_by_nvidia:
        return None
    installed, chip = machine.kernel.installed_release, machine.matrix.chip(pci.device)
    if chip is None:
        unknown = Missing(Cause.NOT_STATED, f"the tables list no GPU with device id {pci.device}")
        raise CouldNotTell(unknown, Rung.KERNEL_DRIVER)
    name = f"the {chip.architecture} GPU at {gpu.key} (10de:{pci.device})"
    seen = Evidence("GPU", f"10de:{pci.device}, {chip.architecture}", citation(chip.source))
    return _undriven_gpu_of_driver(gpu, name, chip.compute_capability, seen, installed)


def _undriven_gpu_of_driver(gpu: GpuView, name: str, capability: Version, seen: Evidence, installed: tuple[Version, str]) -> UndrivenGpu:
    (driver, where), flavour = installed, gpu.machine.kernel.installed_flavour
    row = gpu.machine.matrix.deciding_branch(driver, capability)
    evidence = [seen, Evidence("driver", f"{driver} {flavour}".rstrip(), where)]
    if row is not None:
        supported = f"{row.oldest_capability} to {row.newest_capability or 'unknown'}"
        evidence.append(Evidence(f"compute capabilities of branch {row.branch}", supported, citation(row.source)))
    is_too_new = row is not None and gpu.machine.matrix.predates(row, capability)
    return UndrivenGpu(name, capability, driver, flavour, row, tuple(evidence), is_too_new)


def known_capability_bound(bound: Version | None) -> Version:
    """Return the bound of a branch, or end the rule where the tables do not state it."""
    return require_known(bound or _NO_BOUNDS, Rung.KERNEL_DRIVER)


def refusal_evidence(gpu: GpuView, pattern: str) -> tuple[Evidence, ...]:
    """Return the driver's log line about this GPU that matches a pattern."""
    return kernel_log_evidence(gpu.machine, pattern, gpu.key)


def refusal_confidence(gpu: GpuView, refused: tuple[Evidence, ...]) -> Confidence:
    """Return certain where the driver logged the reason or the GPU was described, else likely."""
    return Confidence.CERTAIN if refused or gpu.supposed_capability else Confidence.LIKELY


def read_refusal_log(gpu: GpuView) -> tuple[Fix, ...]:
    """Return the check of the kernel log; none for a GPU that was only described."""
    return () if gpu.supposed_capability else (_READ_LOG,)
