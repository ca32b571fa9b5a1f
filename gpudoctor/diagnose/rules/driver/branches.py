"""GD1 and GD2: the driver's branch or flavour does not drive this GPU, or the GPU's own firmware does not run."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Driver, Gpu, Site
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.diagnose.gpu_facts import supposed_capability
from gpudoctor.diagnose.kernel_facts import FOR_GUESTS
from gpudoctor.diagnose.rule import CouldNotTell, not_applicable
from gpudoctor.findings import Evidence, Fix, Rung
from gpudoctor.matrix import DriverBranch, Matrix
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Cause, KernelDriver, KernelModules, Missing, Nvml, NvmlGpu, PciDevice, ProcGpu, Snapshot
from gpudoctor.versions import Version


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


_NO_BRANCH = Missing(Cause.NOT_STATED, "the matrix does not say which GPUs this branch drives")


_READ = read_log("NVRM: (The NVIDIA GPU|.*(nvidia|driver))", "Read what the driver says of the GPU")


def _read(gpu: Gpu) -> tuple[Fix, ...]:
    """The driver says nothing of a GPU that is only supposed."""
    return () if supposed_capability(gpu) else (_READ,)
