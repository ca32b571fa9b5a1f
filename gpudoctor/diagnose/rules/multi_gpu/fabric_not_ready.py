"""GD811: fabric-not-ready."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Hardware, Site
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.multi_gpu.fabric import _ITS_LOG, _RESTART, _attached, _complaint, _waiting, _where
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, FabricManager, Missing, Pci, Snapshot


@rule(
    "GD811",
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
