"""GD801: fabric-manager-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, Hardware, MachineView
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.multi_gpu.fabric import _ITS_LOG, _START, _attached, _complaint, _elsewhere, _install, _waiting, _where
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, FabricManager, Missing, Pci, Snapshot

_START_NOW = Fix("Start it, now and at each boot", _START, (ROOT,))


@rule(
    "GD801",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    explains=(
        Explains(
            (
                "gpu-missing-from-cuda",
                "cuda-init-fails",
                "nvlink-inactive",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
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
