"""GD8: the service that machines with NVSwitches need before CUDA starts."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Driver, Facts, Hardware
from gpudoctor.diagnose.driver_fixes import repository
from gpudoctor.diagnose.fixes import DOWNLOAD, ROOT
from gpudoctor.diagnose.kernel_facts import cuda_answered
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Fabric, FabricManager, Missing, NvmlGpu, Pci, Snapshot

NOT_READY = 802
"""CUDA_ERROR_SYSTEM_NOT_READY."""
_DONE = {"completed", "not-supported"}
_PACKAGE = {
    "ubuntu": "sudo apt install 'nvidia-fabricmanager-{branch}={version}-*'",
    "debian": "{repository} && sudo apt install 'nvidia-fabricmanager-{branch}={version}-*'",
    "rhel": "sudo dnf install nvidia-fabric-manager-{version}",
    "fedora": "sudo dnf install nvidia-fabric-manager-{version}",
}
"""As NVIDIA's Fabric Manager user guide names the packages; Debian itself has none."""


def _switches(pci: Pci) -> int:
    return sum(device.vendor == "10de" and device.class_code.startswith("0680") for device in pci.devices)


def _waiting(snapshot: Snapshot, hardware: Hardware) -> tuple[Evidence, ...] | Missing:
    """What says that the fabric is not set up; missing where nothing could say so."""
    states = [gpu.nvml.fabric.state for gpu in hardware if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.fabric, Fabric)]
    code = cuda_answered(snapshot)
    if code is None and not states:
        return snapshot.libcuda if isinstance(snapshot.libcuda, Missing) else Missing(Cause.FAILED, "neither cuInit nor NVML answered")
    unready = sorted({state for state in states if state not in _DONE})
    return (
        *((Evidence("cuInit", f"{code} CUDA_ERROR_SYSTEM_NOT_READY", "libcuda"),) if code == NOT_READY else ()),
        *((Evidence("state of the fabric", ", ".join(unready), "nvmlDeviceGetGpuFabricInfo"),) if unready else ()),
    )


def _install(facts: Facts, driver: Driver | Missing) -> Fix:
    template = next((_PACKAGE[name] for name in facts.site.distribution if name in _PACKAGE), "")
    source = repository(facts)
    if not template or isinstance(driver, Missing) or ("{repository}" in template and not source):
        return Fix("Install the fabric manager of exactly the driver's version.", needs=(ROOT, DOWNLOAD))
    command = template.format(branch=driver.version.major, version=driver.version, repository=source)
    return Fix(f"Install the fabric manager of exactly the driver's version, {driver.version}", f"{command} && {_START}", (ROOT, DOWNLOAD))


_START = "sudo systemctl enable --now nvidia-fabricmanager"


@rule("GD801", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def fabric_manager_missing(
    pci: Pci, manager: FabricManager | Missing, snapshot: Snapshot, hardware: Hardware, driver: Driver | Missing, facts: Facts
) -> Iterator[Problem]:
    """NVSwitches are there, and the fabric manager that sets them up does not run.

    ## Why it matters
    On machines with NVSwitches (HGX, DGX) the GPUs are joined by a fabric that a service, nvidia-fabricmanager, must set up after each
    boot. Until then cuInit answers 802, "system not yet initialized", on every GPU, while nvidia-smi shows all in order.

    ## What to do
    Start the service, and have it started at each boot. Where it is not installed, install the release of the driver: another one
    refuses to start. In a container or a guest this is the host's to do.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    """
    site = facts.site
    if not site.has_pci or not _switches(pci):
        not_applicable("no NVSwitch is on the PCI bus")
    waiting = need(_waiting(snapshot, hardware), Rung.LIBCUDA)
    running = manager.running if isinstance(manager, FabricManager) else manager
    if not waiting or running is True:
        return
    if isinstance(running, Missing) and running.cause is not Cause.ABSENT and not site.container:
        need(running)
    installed = isinstance(manager, FabricManager)
    state = "cannot be seen from this container" if site.container else "is installed and does not run" if installed else "is not installed"
    start = Fix("Start it, now and at each boot", _START, (ROOT,))
    why = Fix(
        "Read its log, if it does not start",
        "sudo journalctl -u nvidia-fabricmanager -n 30; sudo tail -n 30 /var/log/fabricmanager.log",
        (ROOT,),
        kind=FixKind.CHECK,
    )
    yield Problem(
        message=f"{_switches(pci)} NVSwitches, the fabric is not set up, and the fabric manager {state}.",
        confidence=Confidence.LIKELY if site.container else Confidence.CERTAIN,
        evidence=(*waiting, Evidence("fabric manager", state, _where(manager)), *_complaint(manager)),
        fixes=(Fix("Start nvidia-fabricmanager on the host."),)
        if site.container
        else (start, why)
        if installed
        else (_install(facts, driver),),
    )


def _where(manager: FabricManager | Missing) -> str:
    return manager.unit if isinstance(manager, FabricManager) and isinstance(manager.unit, str) else "systemd's units, /proc"


def _complaint(manager: FabricManager | Missing) -> tuple[Evidence, ...]:
    text = manager.complaint if isinstance(manager, FabricManager) else ""
    return (Evidence("its last complaint", text, "/var/log/fabricmanager.log"),) if isinstance(text, str) and text else ()


@rule("GD802", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def fabric_manager_version_mismatch(
    pci: Pci, manager: FabricManager | Missing, driver: Driver, snapshot: Snapshot, hardware: Hardware, facts: Facts
) -> Iterator[Problem]:
    """The fabric manager is of another release than the driver.

    ## Why it matters
    Driver and fabric manager must be of the same release to the last digit. After one of them was renewed alone the service refuses to
    start, or does not start again after the next boot, and cuInit answers 802 on every GPU.

    ## What to do
    Install the fabric manager of the driver's release, and hold both packages together from then on.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    """
    site = facts.site
    if not site.has_pci or not _switches(pci):
        not_applicable("no NVSwitch is on the PCI bus")
    if isinstance(manager, Missing):
        if manager.cause is Cause.ABSENT:
            not_applicable("no fabric manager is installed")
        need(manager)
        return
    stated = need(manager.version)
    version = versions.parse(stated.value)
    if version is None or version == driver.version:
        return
    waiting = _waiting(snapshot, hardware)
    yield Problem(
        message=f"The fabric manager is of release {version}, the driver of {driver.version}.",
        severity=None if waiting and not isinstance(waiting, Missing) else Severity.WARNING,
        evidence=(
            Evidence("release of the fabric manager", stated.value, stated.where),
            Evidence("release of the driver", str(driver.version), driver.where),
            *_complaint(manager),
        ),
        fixes=(_install(facts, driver),),
    )


RULES = (fabric_manager_missing, fabric_manager_version_mismatch)
