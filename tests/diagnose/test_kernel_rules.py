"""Branches of the rules about the kernel side, the fabric and other vendors that no recorded machine reaches."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, Finding, OutcomeKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    Cause,
    Fabric,
    FabricManager,
    Fact,
    Missing,
    Nvml,
    Pci,
    PciDevice,
    Snapshot,
)
from tests.builders import ABSENT, in_docker, libcuda, machine

DENIED = Missing(Cause.DENIED, "only root may read it")
SWITCH = PciDevice(address="0000:90:00.0", vendor="10de", device="1af1", class_code="068000")
RADEON = PciDevice(address="0000:03:00.0", vendor="1002", device="73bf", class_code="030000", driver="amdgpu")


def found(name: str, snapshot: Snapshot, matrix: Matrix, **policy: Any) -> list[Finding]:
    return [one for one in diagnose(snapshot, matrix, Policy(level=None, **policy)).findings if one.name == name]


def outcome(name: str, snapshot: Snapshot, matrix: Matrix) -> OutcomeKind:
    return next(one.kind for one in diagnose(snapshot, matrix, Policy(level=None)).outcomes if one.name == name)


class TestFabric:
    def snapshot(self, manager: FabricManager | Missing, code: int = 802, **sections: Any) -> Snapshot:
        whole = machine(2, libcuda=libcuda(0, code, "CUDA_ERROR_SYSTEM_NOT_READY") if code else libcuda(2), fabric_manager=manager)
        assert isinstance(whole.pci, Pci)
        return msgspec.structs.replace(whole, pci=Pci((*whole.pci.devices, SWITCH)), **sections)

    def test_in_a_container_it_is_likely_and_the_hosts(self, matrix: Matrix) -> None:
        unseen = Missing(Cause.NOT_ASKED, "a container does not show the host's services")
        (one,) = found("fabric-manager-missing", self.snapshot(unseen, container=in_docker()), matrix)
        assert one.confidence is Confidence.LIKELY
        assert "host" in one.fixes[0].title

    def test_a_state_that_could_not_be_seen_is_ignorance(self, matrix: Matrix) -> None:
        assert outcome("fabric-manager-missing", self.snapshot(FabricManager(running=DENIED)), matrix) is OutcomeKind.COULD_NOT_TELL

    def test_where_cuda_works_it_may_be_stopped(self, matrix: Matrix) -> None:
        assert outcome("fabric-manager-missing", self.snapshot(FabricManager(running=False), code=0), matrix) is OutcomeKind.PASSED

    def test_nvml_says_that_the_fabric_waits(self, matrix: Matrix) -> None:
        whole = self.snapshot(FabricManager(running=False), libcuda=ABSENT)
        assert isinstance(whole.nvml, Nvml)
        assert isinstance(whole.nvml.gpus, tuple)
        gpus = tuple(msgspec.structs.replace(gpu, fabric=Fabric("in-progress", 0, 0)) for gpu in whole.nvml.gpus)
        nvml = msgspec.structs.replace(whole.nvml, gpus=gpus)
        (one,) = found("fabric-manager-missing", msgspec.structs.replace(whole, nvml=nvml), matrix)
        assert one.evidence[0].value == "in-progress on 2 of 2 GPUs"

    def registered(self, *states: str, code: int = 802, **sections: Any) -> Snapshot:
        """Two GPUs with these states of the fabric, which cuInit waits for."""
        whole = machine(2, libcuda=libcuda(0, code, "CUDA_ERROR_SYSTEM_NOT_READY"), **sections)
        assert isinstance(whole.nvml, Nvml)
        assert isinstance(whole.nvml.gpus, tuple)
        pairs = zip(whole.nvml.gpus, states, strict=True)
        gpus = tuple(msgspec.structs.replace(gpu, fabric=Fabric(state, 0, 0)) for gpu, state in pairs)
        return msgspec.structs.replace(whole, nvml=msgspec.structs.replace(whole.nvml, gpus=gpus))

    def test_nvmls_state_is_enough_without_a_switch_on_the_bus(self, matrix: Matrix) -> None:
        (one,) = found("fabric-manager-missing", self.registered("in-progress", "completed", fabric_manager=ABSENT), matrix)
        assert "NVML: 2 of 2 GPUs attached" in one.message
        assert [evidence.value for evidence in one.evidence][:2] == ["802 CUDA_ERROR_SYSTEM_NOT_READY", "in-progress on 1 of 2 GPUs"]

    def test_802_of_registered_gpus_is_not_put_down_to_the_fabric(self, matrix: Matrix) -> None:
        done = self.registered("completed", "completed", fabric_manager=FabricManager(running=False))
        assert outcome("fabric-manager-missing", done, matrix) is OutcomeKind.PASSED
        (one,) = found("cuda-init-fails", done, matrix)
        assert not one.because_of

    def test_a_service_that_runs_is_waited_for(self, matrix: Matrix) -> None:
        (one,) = found(
            "fabric-not-ready", self.registered("in-progress", "in-progress", fabric_manager=FabricManager(running=True)), matrix
        )
        assert "--wait" in one.fixes[0].command
        assert not found(
            "fabric-manager-missing", self.registered("in-progress", "in-progress", fabric_manager=FabricManager(running=True)), matrix
        )

    def test_another_release_that_works_all_the_same_is_a_note(self, matrix: Matrix) -> None:
        manager = FabricManager(running=True, version=Fact("550.54.15", "/var/log/fabricmanager.log"))
        (one,) = found("fabric-manager-version-mismatch", self.snapshot(manager, code=0), matrix)
        assert one.severity is Severity.NOTE

    def test_the_install_command_names_the_release(self, matrix: Matrix) -> None:
        (one,) = found("fabric-manager-missing", self.snapshot(ABSENT), matrix)
        assert "nvidia-fabricmanager-550" in one.fixes[0].command
