"""GD8: the services that GPUs on an NVLink fabric need before CUDA starts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Driver, Hardware, MachineView, Site
from gpudoctor.derive.fabric import fabric_of, fifth, in_rack, switches
from gpudoctor.diagnose.driver_fixes import repository
from gpudoctor.diagnose.fixes import DOWNLOAD, ROOT
from gpudoctor.diagnose.kernel_facts import cuda_answered, here
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Fabric, FabricManager, FabricParts, Missing, NvmlGpu, Pci, Snapshot

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


def _attached(pci: Pci | Missing, hardware: Hardware) -> str:
    """How it is known that the GPUs belong to a fabric; ends the rule where they do not."""
    count, gpus = switches(pci), [gpu for gpu in hardware if fabric_of(gpu)]
    if not count and not gpus:
        not_applicable("no NVSwitch is on the PCI bus, and NVML says of no GPU that it is attached to a fabric")
    known = "1 NVSwitch" if count == 1 else f"{count} NVSwitches"
    return known if count else f"NVLink fabric (NVML: {len(gpus)} of {len(hardware)} GPUs attached)"


def _waiting(snapshot: Snapshot, hardware: Hardware) -> tuple[Evidence, ...] | Missing:
    """What says that the fabric is not set up; missing where nothing could say so.

    NVML's state, where it gives one, says what 802 means: a GPU that is registered does not wait for the fabric.
    """
    states = [gpu.nvml.fabric.state for gpu in hardware if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.fabric, Fabric)]
    code = cuda_answered(snapshot)
    if code is None and not states:
        return snapshot.libcuda if isinstance(snapshot.libcuda, Missing) else Missing(Cause.FAILED, "neither cuInit nor NVML answered")
    unready = [state for state in states if state not in _DONE]
    counted = ", ".join(f"{state} on {unready.count(state)} of {len(states)} GPUs" for state in sorted(set(unready)))
    by_code = code == NOT_READY and (bool(unready) or "completed" not in states)
    return (
        *((Evidence("cuInit", f"{code} CUDA_ERROR_SYSTEM_NOT_READY", "libcuda"),) if by_code else ()),
        *((Evidence("state of the fabric", counted, "nvmlDeviceGetGpuFabricInfo"),) if unready else ()),
    )


def _elsewhere(hardware: Hardware, site: Site, pci: Pci | Missing) -> tuple[str, Fix] | None:
    """Where the fabric manager runs if not on this machine, and what to do there."""
    guest = [gpu for gpu in hardware if isinstance(gpu.nvml, NvmlGpu) and gpu.nvml.virtualization == "passthrough"]
    if site.container:
        return "cannot be seen from this container", Fix("Start nvidia-fabricmanager on the host.")
    if hardware and all(map(in_rack, hardware)):
        start = "Start the fabric manager (NMX-Controller) on the rack's NVLink switch trays, and put this node's GPUs into a partition."
        return "belongs on the rack's switch trays, not on this node", Fix(start)
    if hardware and len(guest) == len(hardware) and not switches(pci):
        start = "Have the host's administrator, or the cloud provider, activate this machine's fabric partition; if they cannot, use another machine."
        return "belongs on the host of this virtual machine", Fix(start)
    return None


def _install(machine: MachineView, driver: Driver | Missing) -> Fix:
    template = next((_PACKAGE[name] for name in machine.site.distribution if name in _PACKAGE), "")
    source = repository(machine)
    if not template or isinstance(driver, Missing) or ("{repository}" in template and not source):
        return Fix("Install the fabric manager of exactly the driver's version.", needs=(ROOT, DOWNLOAD))
    command = template.format(branch=driver.version.major, version=driver.version, repository=source)
    return Fix(f"Install the fabric manager of exactly the driver's version, {driver.version}", f"{command} && {_START}", (ROOT, DOWNLOAD))


_START = "sudo systemctl enable --now nvidia-fabricmanager"
_START_NOW = Fix("Start it, now and at each boot", _START, (ROOT,))
_RESTART = Fix("Restart the fabric manager", "sudo systemctl restart nvidia-fabricmanager", (ROOT,))
_ITS_LOG = Fix(
    "Read why it did not start",
    "sudo journalctl -u nvidia-fabricmanager -n 30; sudo tail -n 30 /var/log/fabricmanager.log",
    (ROOT,),
    kind=FixKind.CHECK,
)


@rule("GD801", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def fabric_manager_missing(
    pci: Pci | Missing,
    manager: FabricManager | Missing,
    snapshot: Snapshot,
    hardware: Hardware,
    driver: Driver | Missing,
    machine: MachineView,
) -> Iterator[Problem]:
    """The fabric manager, which sets up the NVLink fabric, is not running.

    ## Why it matters
    On HGX, DGX and NVL72 machines a fabric of NVSwitches joins the GPUs. A service, nvidia-fabricmanager, must set it up after each
    boot. Until then cuInit answers 802, "system not yet initialized", on every GPU, while nvidia-smi shows all in order.

    NVSwitches before NVLink 5 are on the PCI bus. Those of HGX B200 and of NVL72 racks are not: there NVML's fabric state tells. In a rack
    the fabric manager runs on the switch trays, in a virtual machine mostly on its host.

    ## What to do
    Start the service, and have it started at each boot. Where it is not installed, install the driver's own release: the service
    refuses to start with another. In a container this is the host's to do.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    - https://docs.nvidia.com/multi-node-nvlink-systems/mnnvl-user-guide/
    """
    site = machine.site
    if not site.has_pci:
        not_applicable("GPUs of this platform belong to no fabric")
    how = _attached(pci, hardware)
    waiting = need(_waiting(snapshot, hardware), Rung.LIBCUDA)
    running = manager.running if isinstance(manager, FabricManager) else manager
    if not waiting or running is True:
        return
    elsewhere = _elsewhere(hardware, site, pci)
    if isinstance(running, Missing) and running.cause is not Cause.ABSENT and not elsewhere:
        need(running)
    installed = isinstance(manager, FabricManager)
    state = elsewhere[0] if elsewhere else "is installed but not running" if installed else "is not installed"
    own = (_START_NOW, _ITS_LOG) if installed else (_install(machine, driver),)
    yield Problem(
        message=f"{how}, the fabric is not set up, and the fabric manager {state}.",
        confidence=Confidence.LIKELY if elsewhere else Confidence.CERTAIN,
        evidence=(*waiting, Evidence("fabric manager", state, _where(manager)), *_complaint(manager)),
        fixes=(elsewhere[1],) if elsewhere else own,
    )


@rule("GD811", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def fabric_not_ready(
    pci: Pci | Missing, manager: FabricManager | Missing, snapshot: Snapshot, hardware: Hardware, site: Site
) -> Iterator[Problem]:
    """The fabric manager is running but has not finished setting up the fabric.

    ## Why it matters
    GPUs register with the fabric one after the other once the fabric manager runs. Shortly after a boot that takes a minute or two, and
    cuInit answers 802 until it is done. A state that stays "in progress" means that the service cannot reach a switch or a GPU.

    ## What to do
    Wait. If the state is the same after five minutes, read the service's log and restart it; then reboot.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    """
    if not site.has_pci:
        not_applicable("GPUs of this platform belong to no fabric")
    how = _attached(pci, hardware)
    if isinstance(manager, Missing):
        if manager.cause is Cause.ABSENT:
            not_applicable("no fabric manager is installed here")
        need(manager)
        return
    if not need(manager.running):
        not_applicable("the fabric manager is not running")
    waiting = need(_waiting(snapshot, hardware), Rung.LIBCUDA)
    if not waiting:
        return
    yield Problem(
        message=f"{how}; the fabric manager is running and the fabric is not ready: {waiting[-1].value}.",
        confidence=Confidence.LIKELY,
        evidence=(*waiting, Evidence("fabric manager", "running", _where(manager)), *_complaint(manager)),
        fixes=(
            Fix("Wait until the fabric is ready, five minutes at most", "gpudoctor check --wait 300", kind=FixKind.CHECK),
            msgspec.structs.replace(_ITS_LOG, title="Read the fabric manager's log", kind=FixKind.CHECK),
            _RESTART,
        ),
    )


def _where(manager: FabricManager | Missing) -> str:
    return manager.unit if isinstance(manager, FabricManager) and isinstance(manager.unit, str) else "systemd's units, /proc"


def _complaint(manager: FabricManager | Missing) -> tuple[Evidence, ...]:
    text = manager.complaint if isinstance(manager, FabricManager) else ""
    return (Evidence("its last complaint", text, "/var/log/fabricmanager.log"),) if isinstance(text, str) and text else ()


@rule("GD802", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def fabric_manager_version_mismatch(
    pci: Pci | Missing, manager: FabricManager | Missing, driver: Driver, snapshot: Snapshot, hardware: Hardware, machine: MachineView
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
    if not machine.site.has_pci:
        not_applicable("GPUs of this platform belong to no fabric")
    _attached(pci, hardware)
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
        fixes=(_install(machine, driver),),
    )


_UMAD = Fix(
    "Load the module ib_umad, now and at each boot",
    "sudo modprobe ib_umad && echo ib_umad | sudo tee /etc/modules-load.d/ib_umad.conf",
    (ROOT,),
)
_NVLSM = {"ubuntu": "sudo apt install nvlsm", "debian": "sudo apt install nvlsm", "rhel": "sudo dnf install nvlsm"}
"""In NVIDIA's package repository, beside the driver and the fabric manager."""
_IMEX = Fix("Start IMEX, where jobs use GPUs of several nodes", "sudo systemctl enable --now nvidia-imex", (ROOT,))
_GET_IMEX = Fix("Install nvidia-imex in the driver's release, where jobs use GPUs of several nodes.", needs=(ROOT, DOWNLOAD))


@rule("GD809", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def fabric_prerequisites_missing(
    parts: FabricParts | Missing, pci: Pci | Missing, snapshot: Snapshot, hardware: Hardware, site: Site
) -> Iterator[Problem]:
    """NVLink 5 needs a service or kernel module that is not running.

    ## Why it matters
    From NVLink 5 on (HGX B200, B300) the fabric manager alone sets up nothing: it needs the NVLink subnet manager (package nvlsm), and
    both reach the switches by InfiniBand management datagrams, which the kernel offers with the module ib_umad. Without these the GPUs
    stay "in progress" and cuInit answers 802. In an NVL72 rack the switch trays do this; there nodes run IMEX to share memory.

    ## What to do
    Install nvlsm, load ib_umad, and restart the fabric manager.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    - https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/
    - https://github.com/siderolabs/extensions/pull/717
    - https://github.com/spectrocloud/CanvOS/pull/700
    """
    gpus = [gpu for gpu in hardware if fabric_of(gpu) and fifth(gpu)]
    if not gpus:
        not_applicable("no GPU with NVLink 5 is attached to a fabric")
    seen = need(parts)
    if all(map(in_rack, gpus)):
        yield from _without_imex(seen)
        return
    if _elsewhere(hardware, site, pci):
        not_applicable("the fabric is set up by the host")
    waiting = need(_waiting(snapshot, hardware), Rung.LIBCUDA)
    installed, running, umad = isinstance(seen.nvlsm, str), need(seen.nvlsm_running), need(seen.umad)
    if not waiting or (running and umad):
        return
    lacking = [
        *((f"NVLSM is not {'running' if installed else 'installed'}",) if not running else ()),
        *(() if umad else ("ib_umad is not loaded",)),
    ]
    install = Fix("Install the NVLink subnet manager", here(site, _NVLSM), (ROOT, DOWNLOAD))
    yield Problem(
        message=f"{len(gpus)} GPUs with NVLink 5 wait for the fabric: {', '.join(lacking)}.",
        evidence=(
            *waiting,
            Evidence("NVLSM", "running" if running else "not running", str(seen.nvlsm) if installed else "/opt/nvidia/nvlsm"),
            Evidence("ib_umad", "loaded" if umad else "not loaded", "/sys/class/infiniband_mad"),
        ),
        fixes=(*(() if installed or running else (install,)), *(() if umad else (_UMAD,)), _RESTART),
    )


def _without_imex(parts: FabricParts) -> Iterator[Problem]:
    """A node of a rack can train alone without IMEX."""
    if need(parts.imex_running):
        return
    state = "not running" if isinstance(parts.imex, str) else "not installed"
    yield Problem(
        title="IMEX is not running on this node of an NVL72 rack",
        message=f"IMEX is {state}: GPUs of several nodes cannot share memory over NVLink. A training on this node alone does not need it.",
        severity=Severity.NOTE,
        evidence=(Evidence("nvidia-imex", state, "systemd's units, /proc"),),
        fixes=(_IMEX,) if isinstance(parts.imex, str) else (_GET_IMEX, _IMEX),
    )


RULES = (fabric_manager_missing, fabric_manager_version_mismatch, fabric_prerequisites_missing, fabric_not_ready)
