"""GD1 and GD2: the driver's branch or flavour does not drive this GPU, or the GPU's own firmware does not run."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Driver, Gpu, MachineView, Site
from gpudoctor.diagnose.driver_fixes import BLACKWELL, TURING, install_driver
from gpudoctor.diagnose.fixes import DOWNLOAD, REBOOT, ROOT, power_cycle, read_log
from gpudoctor.diagnose.gpu_facts import as_evidence, logged, supposed_capability
from gpudoctor.diagnose.kernel_facts import FOR_GUESTS, said
from gpudoctor.diagnose.rule import CouldNotTell, need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import DriverBranch, Matrix
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Cause, KernelDriver, KernelLog, KernelModules, Missing, Nvml, NvmlGpu, PciDevice, ProcGpu, Snapshot
from gpudoctor.versions import Version

NOT_OPEN = r"not supported by open nvidia\.ko"
ONLY_OPEN = r"requires use of the NVIDIA open kernel modules"
LEGACY = r"supported through the NVIDIA .{0,40} Legacy drivers"
UNKNOWN_TO_DRIVER = r"not supported by the NVIDIA [\d.]+ driver release"
GSP_TIMEOUT, GSP_ERROR = 119, 120
GSP_LINES = r"Cannot initialize GSP firmware|GSP.{0,40}(?:timeout|timed out|failed)|WPR2 already up"


class _Pair(msgspec.Struct, frozen=True):
    """A GPU that no NVIDIA driver has bound, or that is only supposed, and the driver that is installed."""

    called: str
    capability: Version
    version: Version
    flavour: str
    """open, proprietary, or empty where that is not known."""
    branch: int
    oldest: Version | None
    newest: Version | None
    evidence: tuple[Evidence, ...]


def driven(gpu: Gpu) -> bool:
    """Whether the NVIDIA driver has bound this GPU, or NVML opened it."""
    return isinstance(gpu.proc, ProcGpu) or (isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.address, str))


def _pair(gpu: Gpu, snapshot: Snapshot, driver: Driver | Missing, matrix: Matrix, site: Site) -> _Pair | None:
    """None where the GPU is driven; ends the rule where it should not be, or where GPU or driver are not known well enough."""
    capability = supposed_capability(gpu)
    if capability is not None:
        seen = Evidence("GPU", f"{gpu.label}, compute capability {capability}", "as supposed")
        return _paired(gpu.label, capability, seen, snapshot, driver, matrix)
    if not site.has_pci or site.container or not isinstance(gpu.pci, PciDevice) or gpu.pci.driver in FOR_GUESTS:
        not_applicable("not a GPU that a kernel driver of this machine should drive")
    if driven(gpu):
        return None
    chip = matrix.chip(gpu.pci.device)
    if chip is None:
        _installed(snapshot, driver)
        unknown = Missing(Cause.NOT_STATED, f"the matrix knows no GPU with the device id {gpu.pci.device}")
        raise CouldNotTell(unknown, Rung.KERNEL_DRIVER)
    seen = Evidence("GPU", f"10de:{gpu.pci.device}, {chip.architecture}", cited(chip.source))
    called = f"The {chip.architecture} GPU at {gpu.key} (10de:{gpu.pci.device})"
    return _paired(called, chip.compute_capability, seen, snapshot, driver, matrix)


def _paired(called: str, capability: Version, seen: Evidence, snapshot: Snapshot, driver: Driver | Missing, matrix: Matrix) -> _Pair:
    version, where = _installed(snapshot, driver)
    row, flavour = matrix.driver(version), _flavour(snapshot)
    return _Pair(
        called=called,
        capability=capability,
        version=version,
        flavour=flavour,
        branch=row.branch if row else version.major,
        oldest=row.oldest_capability if row else None,
        newest=row.newest_capability if row else None,
        evidence=(seen, Evidence("driver", " ".join(filter(None, (str(version), flavour))), where), *(_bounds(row) if row else ())),
    )


def _bounds(row: DriverBranch) -> tuple[Evidence, ...]:
    newest = row.newest_capability or "not known"
    return (Evidence(f"compute capabilities of branch {row.branch}", f"{row.oldest_capability} to {newest}", cited(row.source)),)


def _installed(snapshot: Snapshot, driver: Driver | Missing) -> tuple[Version, str]:
    """The release of the loaded driver; of the installed one where its module did not stay."""
    if isinstance(driver, Driver):
        return driver.version, driver.where
    stated = []
    if isinstance(snapshot.nvml, Nvml) and isinstance(snapshot.nvml.nvml_version, str):
        stated.append((snapshot.nvml.nvml_version.partition(".")[2], "NVML's own version"))
    if isinstance(snapshot.kernel_modules, KernelModules) and isinstance(snapshot.kernel_modules.dkms, tuple):
        stated += [(one.version, "DKMS") for one in snapshot.kernel_modules.dkms]
    for text, where in stated:
        version = versions.parse(text)
        if version is not None:
            return version, where
    if driver.cause is Cause.ABSENT:
        not_applicable("no NVIDIA driver is installed, or none that says of which release it is")
    raise CouldNotTell(driver, Rung.KERNEL_DRIVER)


def _flavour(snapshot: Snapshot) -> str:
    """Open or proprietary; empty where neither the loaded module nor the installed one's path says it."""
    if isinstance(snapshot.kernel_driver, KernelDriver) and isinstance(snapshot.kernel_driver.flavour, str):
        return snapshot.kernel_driver.flavour
    modules = snapshot.kernel_modules
    if isinstance(modules, KernelModules):
        paths = [one.path for one in modules.installed] if isinstance(modules.installed, tuple) else []
        names = [one.name for one in modules.dkms] if isinstance(modules.dkms, tuple) else []
        if any("open" in text for text in (*paths, *names)):
            return "open"
    return ""


@rule("GD211", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, since="0.1", about=SubjectKind.GPU)
def driver_too_new_for_gpu(
    gpu: Gpu, snapshot: Snapshot, driver: Driver | Missing, matrix: Matrix, log: KernelLog | Missing, machine: MachineView
) -> Iterator[Problem]:
    """The driver no longer drives a GPU of this age.

    ## Why it matters
    NVIDIA's driver branches drop old generations: 390 was the last for Fermi, 470 for Kepler, 580 for Maxwell, Pascal and Volta. A
    newer one loads, says in the kernel's log that it ignores the GPU, and nvidia-smi finds no device. The open flavour of the kernel
    modules drives nothing older than Turing, in any branch.

    ## What to do
    Install a branch that still drives the GPU, in the proprietary flavour; the distribution's package names carry the branch. Then
    choose a build of the framework that this branch's CUDA serves.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html
    """
    pair = _pair(gpu, snapshot, driver, matrix, machine.site)
    if pair is None:
        return
    told = said(log, f"{NOT_OPEN}|{LEGACY}", gpu)
    capability = pair.capability
    dropped = pair.oldest is not None and capability < pair.oldest
    if not told and not dropped and not (pair.flavour == "open" and capability < TURING):
        need(pair.oldest or _NO_BRANCH, Rung.KERNEL_DRIVER)
        return
    reason = (
        f"branch {pair.branch} drives none below {pair.oldest}" if dropped else "the open kernel modules drive none before Turing (7.5)"
    )
    yield Problem(
        message=f"{pair.called} is too old for driver {pair.version}: {reason}.",
        confidence=Confidence.CERTAIN if told or supposed_capability(gpu) else Confidence.LIKELY,
        evidence=(*pair.evidence, *told),
        fixes=(
            *_read(gpu),
            install_driver(machine, what="Install a driver that drives this GPU", flavour="" if dropped else "proprietary", older=True),
        ),
    )


@rule("GD212", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, since="0.1", about=SubjectKind.GPU)
def gpu_too_new_for_driver(
    gpu: Gpu, snapshot: Snapshot, driver: Driver | Missing, matrix: Matrix, log: KernelLog | Missing, machine: MachineView
) -> Iterator[Problem]:
    """The driver does not know a GPU as new as this one.

    ## Why it matters
    A driver drives the generations that existed when its branch was made. It ignores a newer GPU and says so in the kernel's log only;
    nvidia-smi finds no device. From Blackwell on, GPUs are driven by the open flavour of the kernel modules alone: with the proprietary
    one, even of the newest branch, the GPU does not start.

    ## What to do
    Install a newer branch, for Blackwell in its open flavour: packages with "open" in their name.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html
    """
    pair = _pair(gpu, snapshot, driver, matrix, machine.site)
    if pair is None:
        return
    told = said(log, f"{ONLY_OPEN}|{UNKNOWN_TO_DRIVER}", gpu)
    capability = pair.capability
    unknown = pair.newest is not None and capability > pair.newest
    closed = (pair.flavour == "proprietary" and capability >= BLACKWELL) or bool(said(log, ONLY_OPEN, gpu))
    if not told and not unknown and not closed:
        need(pair.newest or _NO_BRANCH, Rung.KERNEL_DRIVER)
        return
    first, _ = matrix.branches_for(capability)
    least = Version(first, text=str(first)) if unknown and first else None
    reason = (
        f"branch {pair.branch} drives none above {pair.newest}" if unknown else "its kernel modules are not the open ones" if closed else ""
    )
    yield Problem(
        message=f"{pair.called} is too new for driver {pair.version}: {reason or 'it says so itself'}.",
        confidence=Confidence.CERTAIN if told or supposed_capability(gpu) else Confidence.LIKELY,
        evidence=(*pair.evidence, *told),
        fixes=(
            *_read(gpu),
            install_driver(
                machine, least, what="" if least else "Install the driver with its open kernel modules", flavour="open" if closed else ""
            ),
        ),
    )


_NO_BRANCH = Missing(Cause.NOT_STATED, "the matrix does not say which GPUs this branch drives")
_READ = read_log("NVRM: (The NVIDIA GPU|.*(nvidia|driver))", "Read what the driver says of the GPU")


def _read(gpu: Gpu) -> tuple[Fix, ...]:
    """The driver says nothing of a GPU that is only supposed."""
    return () if supposed_capability(gpu) else (_READ,)


@rule("GD110", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", about=SubjectKind.GPU)
def gsp_firmware_failure(gpu: Gpu, log: KernelLog | Missing) -> Iterator[Problem]:
    """The GPU's own firmware (GSP) failed or does not answer.

    ## Why it matters
    Since Turing a GPU runs a part of the driver itself, on a processor called GSP. When that does not start, or stops answering (Xid 119
    and 120), every call about the GPU fails or waits. If the GPU works again by now, it is worth knowing only.

    ## What to do
    Reset the GPU or reboot; where the log says "WPR2 already up", only power off and on helps. If it happens again, renew the driver:
    most of such failures were mended there. The proprietary modules can do without the firmware (NVreg_EnableGpuFirmware=0), the open
    ones cannot.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    - https://github.com/NVIDIA/open-gpu-kernel-modules/issues/789
    """
    if not isinstance(gpu.pci, PciDevice) or gpu.set_aside:
        not_applicable("not a GPU that a kernel driver of this machine should drive")
    events = logged(gpu, log, GSP_TIMEOUT, GSP_ERROR)
    lines = said(log, GSP_LINES, gpu)
    if not events and not lines:
        if not (isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.address, str)):
            need(log, Rung.KERNEL_DRIVER)
        return  # a GPU that answers NVML has firmware that answers
    yield Problem(
        message=f"{gpu.label}: the firmware failed: {events[-1].text[:100] if events else lines[-1].value[:100]}",
        evidence=(*as_evidence(events, log), *lines),
        fixes=(
            Fix("Save the kernel log for a report", "sudo nvidia-bug-report.sh", (ROOT,), kind=FixKind.CHECK),
            power_cycle(),
            Fix("Update the driver; if it happens again, have the card examined.", needs=(ROOT, DOWNLOAD, REBOOT), kind=FixKind.ELSE),
        ),
    )


RULES = (driver_too_new_for_gpu, gpu_too_new_for_driver, gsp_firmware_failure)
