"""GD8: the services that GPUs on an NVLink fabric need before CUDA starts."""

from __future__ import annotations

from gpudoctor.derive import Driver, Hardware, MachineView, Site
from gpudoctor.derive.fabric import fabric_of, in_rack, switches
from gpudoctor.diagnose.advice.driver import repository
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.kernel_facts import cuda_answered
from gpudoctor.diagnose.rule import not_applicable
from gpudoctor.findings import Evidence, Fix, FixKind
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


_RESTART = Fix("Restart the fabric manager", "sudo systemctl restart nvidia-fabricmanager", (ROOT,))


_ITS_LOG = Fix(
    "Read why it did not start",
    "sudo journalctl -u nvidia-fabricmanager -n 30; sudo tail -n 30 /var/log/fabricmanager.log",
    (ROOT,),
    kind=FixKind.CHECK,
)


def _where(manager: FabricManager | Missing) -> str:
    return manager.unit if isinstance(manager, FabricManager) and isinstance(manager.unit, str) else "systemd's units, /proc"


def _complaint(manager: FabricManager | Missing) -> tuple[Evidence, ...]:
    text = manager.complaint if isinstance(manager, FabricManager) else ""
    return (Evidence("its last complaint", text, "/var/log/fabricmanager.log"),) if isinstance(text, str) and text else ()
