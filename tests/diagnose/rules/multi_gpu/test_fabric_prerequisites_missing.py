from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import FabricParts, Nvml, Snapshot
from tests.builders import ABSENT
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.multi_gpu.fabrics import REGISTERED, RUNNING, WAITING, server

RULE = "fabric-prerequisites-missing"
READY = FabricParts(nvlsm="/opt/nvidia/nvlsm/sbin/nvlsm", nvlsm_running=True, umad=True)


def fifth(parts: FabricParts, *, name: str = "NVIDIA B200", waits: bool = True) -> Snapshot:
    """GPUs with NVLink 5, whose switches are not on the PCI bus."""
    snapshot = server(WAITING if waits else REGISTERED, switched=False, fabric_manager=RUNNING, fabric_parts=parts)
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    change: dict[str, Any] = {"nvlink_version": "5.0", "name": name}
    gpus = tuple(msgspec.structs.replace(gpu, **change) for gpu in snapshot.nvml.gpus)
    return msgspec.structs.replace(snapshot, nvml=msgspec.structs.replace(snapshot.nvml, gpus=gpus))


def test_all_that_is_missing_is_named_and_fixed_in_order() -> None:
    (finding,) = findings_of(RULE, fifth(FabricParts(nvlsm=ABSENT, nvlsm_running=False, umad=False)))
    assert finding.message == "NVLink 5 fabric of 8 GPUs cannot start: NVLSM is not installed, ib_umad is not loaded."
    assert [fix.title for fix in finding.fixes] == [
        "Install the NVLink subnet manager",
        "Load the ib_umad module now and at every boot",
        "Restart the fabric manager",
    ]


def test_a_stopped_subnet_manager_is_not_installed_again() -> None:
    stopped = msgspec.structs.replace(READY, nvlsm_running=False)
    (finding,) = findings_of(RULE, fifth(stopped))
    assert [fix.title for fix in finding.fixes] == ["Restart the fabric manager"]


def test_imex_in_a_rack_is_a_note() -> None:
    parts = FabricParts(imex=ABSENT, imex_running=False)
    (finding,) = findings_of(RULE, fifth(parts, name="NVIDIA GB200", waits=False))
    assert (finding.severity, finding.title) == (Severity.NOTE, "IMEX is not running on this node of an NVL72 rack")


def test_other_outcomes() -> None:
    assert kinds_of(RULE, fifth(READY)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, fifth(msgspec.structs.replace(READY, nvlsm_running=False), waits=False)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, fifth(FabricParts())) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, server()) == [OutcomeKind.NOT_APPLICABLE]
