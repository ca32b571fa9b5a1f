"""GD802: fabric-manager-version-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Driver, Hardware, MachineView
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.multi_gpu.fabric import _attached, _complaint, _install, _waiting
from gpudoctor.findings import Evidence, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, FabricManager, Missing, Pci, Snapshot


@rule(
    "GD802",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    explains=(
        Explains(
            (
                "gpu-missing-from-cuda",
                "cuda-init-fails",
                "fabric-manager-missing",
                "fabric-not-ready",
                "nvlink-inactive",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
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
