"""Branches of the rules about the kernel side, the fabric and other vendors that no recorded machine reaches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, Finding, OutcomeKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    Blocked,
    Cause,
    Fabric,
    FabricManager,
    Fact,
    Hang,
    KernelDriver,
    KernelLog,
    KernelModules,
    Major,
    Missing,
    ModuleFile,
    Node,
    Nvml,
    Pci,
    PciDevice,
    ProcGpu,
    Snapshot,
    Status,
    StuckProcess,
)
from tests.builders import ABSENT, address, card, in_docker, libcuda, machine

DENIED = Missing(Cause.DENIED, "only root may read it")
SWITCH = PciDevice(address="0000:90:00.0", vendor="10de", device="1af1", class_code="068000")
RADEON = PciDevice(address="0000:03:00.0", vendor="1002", device="73bf", class_code="030000", driver="amdgpu")
UNLOADED = KernelDriver(version=ABSENT, modules=(), gpus=ABSENT)
NOT_LOADED = Nvml(init=Status(9, "NVML_ERROR_DRIVER_NOT_LOADED", "Driver Not Loaded"), nvml_version="12.550.163.01", gpus=ABSENT)
GTX_1080 = card(0, device="1b80", driver=ABSENT)


def found(name: str, snapshot: Snapshot, matrix: Matrix, **policy: Any) -> list[Finding]:
    return [one for one in diagnose(snapshot, matrix, Policy(level=None, **policy)).findings if one.name == name]


def outcome(name: str, snapshot: Snapshot, matrix: Matrix) -> OutcomeKind:
    return next(one.kind for one in diagnose(snapshot, matrix, Policy(level=None)).outcomes if one.name == name)


def unloaded(modules: KernelModules, device: PciDevice | None = None, **sections: Any) -> Snapshot:
    """A GPU, libraries, and no loaded driver."""
    gpu = device or card(0, driver=ABSENT)
    whole = {"pci": Pci((gpu,)), "kernel_driver": UNLOADED, "nvml": NOT_LOADED, "libcuda": libcuda(0, 100, "CUDA_ERROR_NO_DEVICE")}
    return machine(1, kernel_modules=modules, device_nodes=ABSENT, **{**whole, **sections})


def signed(*, signature: bool | None, **facts: Any) -> KernelModules:
    state = Missing(Cause.UNSUPPORTED, "the file is compressed") if signature is None else signature
    return KernelModules(installed=(ModuleFile("nvidia", "/lib/modules/6.1/nvidia.ko", state),), **{"blocked": (), "dkms": (), **facts})


class TestSecureBoot:
    NAME = "secure-boot-unsigned-module"

    @pytest.mark.parametrize("signature", [True, None])
    def test_a_signature_that_may_not_be_trusted_is_possible_only(self, matrix: Matrix, signature: bool | None) -> None:
        (one,) = found(self.NAME, unloaded(signed(signature=signature, lockdown="integrity")), matrix)
        assert one.confidence is Confidence.POSSIBLE
        assert one.fixes[0].command == "sudo modprobe nvidia"

    def test_a_nearer_reason_is_enough(self, matrix: Matrix) -> None:
        guess = signed(signature=None, secure_boot=True)
        assert found(self.NAME, unloaded(guess), matrix)
        assert not found(self.NAME, unloaded(guess, card(0, driver="nouveau")), matrix)
        blocked = msgspec.structs.replace(guess, blocked=(Blocked("nvidia", "/etc/modprobe.d/x.conf", "blacklist"),))
        assert not found(self.NAME, unloaded(blocked), matrix)

    def test_secure_boot_without_enforcement_refuses_nothing(self, matrix: Matrix) -> None:
        modules = signed(signature=False, secure_boot=True, lockdown="none", signatures_enforced=False)
        assert outcome(self.NAME, unloaded(modules), matrix) is OutcomeKind.PASSED

    def test_without_uefi_nothing_is_refused(self, matrix: Matrix) -> None:
        assert outcome(self.NAME, unloaded(signed(signature=False, secure_boot=ABSENT)), matrix) is OutcomeKind.PASSED

    def test_a_hidden_variable_is_ignorance(self, matrix: Matrix) -> None:
        assert outcome(self.NAME, unloaded(signed(signature=False, secure_boot=DENIED)), matrix) is OutcomeKind.COULD_NOT_TELL

    def test_in_a_container_it_is_the_hosts(self, matrix: Matrix) -> None:
        snapshot = unloaded(signed(signature=False, secure_boot=True), container=in_docker())
        assert outcome(self.NAME, snapshot, matrix) is OutcomeKind.NOT_APPLICABLE


class TestModuleNotBuilt:
    NAME = "kernel-module-not-built"

    def test_nothing_installed_is_not_half_installed(self, matrix: Matrix) -> None:
        modules = KernelModules(installed=(), other_kernels=(), dkms=(), blocked=())
        snapshot = unloaded(modules, nvml=ABSENT, libcuda=ABSENT)
        assert outcome(self.NAME, snapshot, matrix) is OutcomeKind.NOT_APPLICABLE
        assert found("no-driver", snapshot, matrix)

    def test_no_list_of_modules_at_all_is_ignorance(self, matrix: Matrix) -> None:
        assert outcome(self.NAME, unloaded(KernelModules(installed=ABSENT, other_kernels=ABSENT)), matrix) is OutcomeKind.COULD_NOT_TELL

    def test_an_old_snapshot_did_not_ask(self, matrix: Matrix) -> None:
        kept = msgspec.structs.replace(unloaded(KernelModules()), kernel_modules=Missing(Cause.NOT_ASKED, "not asked for"))
        assert outcome(self.NAME, kept, matrix) is OutcomeKind.NOT_ASKED
        assert [one.because_of for one in found("no-driver", kept, matrix)] == [()]


class TestDevices:
    def failing(self, **sections: Any) -> Snapshot:
        return machine(1, libcuda=libcuda(0, 999, "CUDA_ERROR_UNKNOWN"), **sections)

    def driver(self, **facts: Any) -> KernelDriver:
        whole = KernelDriver(
            version=Fact("550.163.01", "/proc"),
            modules=("nvidia", "nvidia_uvm"),
            gpus=(ProcGpu(address(0), minor=0),),
            majors=(Major("nvidia", 195), Major("nvidia-uvm", 507)),
        )
        return msgspec.structs.replace(whole, **facts)

    @pytest.mark.parametrize(("major", "stale"), [(506, True), (507, False)])
    def test_a_node_with_another_drivers_number(self, matrix: Matrix, major: int, *, stale: bool) -> None:
        nodes = (Node("/dev/nvidiactl", major=195), Node("/dev/nvidia0", major=195), Node("/dev/nvidia-uvm", major=major))
        snapshot = self.failing(kernel_driver=self.driver(), device_nodes=msgspec.structs.replace(machine().device_nodes, nodes=nodes))
        findings = found("device-nodes-missing", snapshot, matrix)
        assert [one.confidence for one in findings] == [Confidence.CERTAIN] * stale
        assert bool(findings) is stale

    def test_a_file_that_is_missing_while_all_works_is_no_finding(self, matrix: Matrix) -> None:
        snapshot = machine(1, kernel_driver=self.driver(), device_nodes=ABSENT)
        assert outcome("device-nodes-missing", snapshot, matrix) is OutcomeKind.PASSED

    @pytest.mark.parametrize("code", [802, 803, 804, 46])
    def test_codes_with_causes_of_their_own_do_not_accuse_uvm(self, matrix: Matrix, code: int) -> None:
        snapshot = machine(1, libcuda=libcuda(0, code, "CUDA_ERROR_X"), kernel_driver=self.driver(modules=("nvidia",)))
        assert outcome("uvm-not-loaded", snapshot, matrix) is OutcomeKind.PASSED

    def test_modules_that_cannot_be_seen_are_ignorance(self, matrix: Matrix) -> None:
        snapshot = self.failing(kernel_driver=self.driver(modules=DENIED))
        assert outcome("uvm-not-loaded", snapshot, matrix) is OutcomeKind.COULD_NOT_TELL

    @pytest.mark.parametrize(("times", "kind"), [(2, "found"), (0, "passed"), (ABSENT, "passed"), (DENIED, "could-not-tell")])
    def test_999_after_sleep(self, matrix: Matrix, times: Any, kind: str) -> None:
        snapshot = self.failing(kernel_driver=self.driver(), kernel_modules=KernelModules(suspends=times))
        assert outcome("uvm-broken-after-suspend", snapshot, matrix).value == kind

    def test_who_is_stuck_is_evidence(self, matrix: Matrix) -> None:
        hung = machine(1).nvml
        assert isinstance(hung, Nvml)
        nvml = msgspec.structs.replace(hung, hang=Hang("nvmlInit", 31.0, uninterruptible=False))
        (one,) = found("driver-hung", machine(1, nvml=nvml, stuck=(StuckProcess(7, "nvidia-smi", "rwsem_down"),)), matrix)
        assert one.evidence[1].value == "nvidia-smi (process 7) in rwsem_down"


class TestBranches:
    def refused(self, device: PciDevice, version: str, **sections: Any) -> Snapshot:
        nvml = msgspec.structs.replace(NOT_LOADED, nvml_version=f"13.{version}")
        return unloaded(sections.pop("modules", KernelModules()), device, nvml=nvml, **sections)

    def test_open_modules_and_a_gpu_before_turing(self, matrix: Matrix) -> None:
        modules = signed(signature=False)
        assert isinstance(modules.installed, tuple)
        path = msgspec.structs.replace(modules.installed[0], path="/lib/modules/6.1/kernel/nvidia-570-open/nvidia.ko")
        snapshot = self.refused(GTX_1080, "570.86.15", modules=msgspec.structs.replace(modules, installed=(path,)))
        (one,) = found("driver-too-new-for-gpu", snapshot, matrix)
        assert "before Turing" in one.message
        assert "nvidia-driver-pinning-580" in one.fixes[1].command or "proprietary" in one.fixes[1].title

    def test_what_the_driver_says_itself_is_certain(self, matrix: Matrix) -> None:
        line = f"NVRM: The NVIDIA GPU {address(0)} (PCI ID: 10de:0fc0) installed in this system is supported through the NVIDIA 470.xx Legacy drivers."
        log = KernelLog("/dev/kmsg", lines=(line,))
        (one,) = found("driver-too-new-for-gpu", self.refused(card(0, device="0fc0", driver=ABSENT), "550.163.01", kernel_log=log), matrix)
        assert one.confidence is Confidence.CERTAIN

    def test_what_it_says_of_another_gpu_is_not_of_this_one(self, matrix: Matrix) -> None:
        log = KernelLog("/dev/kmsg", lines=("NVRM: The NVIDIA GPU 0000:99:00.0 is supported through the NVIDIA 470.xx Legacy drivers.",))
        assert not found("driver-too-new-for-gpu", self.refused(GTX_1080, "550.163.01", kernel_log=log), matrix)

    def test_a_gpu_that_no_list_names_is_not_judged(self, matrix: Matrix) -> None:
        for name in ("driver-too-new-for-gpu", "gpu-too-new-for-driver"):
            assert outcome(name, self.refused(card(0, device="fff0", driver=ABSENT), "550.163.01"), matrix) is OutcomeKind.NOT_ASKED

    def test_a_branch_newer_than_the_tables_is_not_judged(self, matrix: Matrix) -> None:
        assert outcome("gpu-too-new-for-driver", self.refused(GTX_1080, "999.10"), matrix) is OutcomeKind.NOT_ASKED

    def test_without_a_driver_there_is_no_branch(self, matrix: Matrix) -> None:
        snapshot = unloaded(KernelModules(), GTX_1080, nvml=ABSENT, libcuda=ABSENT)
        assert outcome("driver-too-new-for-gpu", snapshot, matrix) is OutcomeKind.NOT_APPLICABLE

    def test_a_gpu_that_nouveau_took_after_the_driver_refused_it(self, matrix: Matrix) -> None:
        diagnosis = diagnose(self.refused(card(0, device="1b80", driver="nouveau"), "590.44.01"), matrix, Policy(level=None))
        assert [one.name for one in diagnosis.findings if not one.because_of] == ["driver-too-new-for-gpu"]
        assert "nouveau-loaded" in {one.name for one in diagnosis.findings}


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
