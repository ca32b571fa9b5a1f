"""Branches of the rules on containers, jobs and WSL that no recorded machine reaches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, Finding, Level, OutcomeKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    NOT_ASKED,
    Allocation,
    Cause,
    Container,
    DeviceNodes,
    DriverFile,
    Host,
    Missing,
    Node,
    Nvml,
    Platform,
    Snapshot,
    Status,
    Variables,
    Wsl,
)
from tests.builders import ABSENT, SUCCESS, bare, libcuda, machine

DOCKER = Container("docker", "/.dockerenv", driver_files=(), control="opened")
UNKNOWN = Nvml(init=Status(999, "NVML_ERROR_UNKNOWN", "Unknown Error"), gpus=Missing(Cause.FAILED, "nvmlInit"))
REFUSED = libcuda(0, 100, "CUDA_ERROR_NO_DEVICE")
WINDOWS = Wsl(device=True, libraries=("libcuda.so.1", "libnvidia-ml.so.1"), packages=ABSENT, loader_conf=ABSENT, memory=16 << 30)
ON_WSL = Host(platform=Platform.WSL2, kernel="5.15.1-microsoft-standard-WSL2", uid=1000)


def found(snapshot: Snapshot, matrix: Matrix, name: str, **policy: Any) -> Finding | None:
    diagnosis = diagnose(snapshot, matrix, Policy(level=Level.LOOK, **policy))
    return next((finding for finding in diagnosis.findings if finding.name == name), None)


def outcome(snapshot: Snapshot, matrix: Matrix, name: str) -> OutcomeKind:
    diagnosis = diagnose(snapshot, matrix, Policy(level=Level.LOOK))
    return next(one.kind for one in diagnosis.outcomes if one.name == name)


def change(thing: Any, **fields: Any) -> Any:
    return msgspec.structs.replace(thing, **fields)


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"NVIDIA_VISIBLE_DEVICES": "void"}, "NVIDIA_VISIBLE_DEVICES is void"),
        ({"NVIDIA_VISIBLE_DEVICES": ""}, "NVIDIA_VISIBLE_DEVICES is empty"),
        ({"NVIDIA_DRIVER_CAPABILITIES": "video, utility"}, "NVIDIA_DRIVER_CAPABILITIES is video,utility, without compute"),
        ({"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "all"}, ""),
    ],
)
def test_why_a_container_was_given_no_gpu(matrix: Matrix, variables: dict[str, str], why: str) -> None:
    snapshot = machine(container=DOCKER, device_nodes=ABSENT, nvml=ABSENT, libcuda=ABSENT, variables=Variables(variables))
    finding = found(snapshot, matrix, "container-no-gpu-access")
    assert finding is not None
    assert finding.message.endswith(f": {why}." if why else "loaded.")


def test_a_container_on_wsl_may_not_have_been_given_what_windows_has(matrix: Matrix) -> None:
    snapshot = bare(host=ON_WSL, container=DOCKER, wsl=change(WINDOWS, device=False, libraries=ABSENT))
    finding = found(snapshot, matrix, "container-no-gpu-access")
    assert finding is not None
    assert finding.confidence is Confidence.POSSIBLE
    assert found(snapshot, matrix, "wsl-driver-stack-broken") is None


def test_an_unknown_error_alone_is_only_possibly_the_control_group(matrix: Matrix) -> None:
    unseen = change(DOCKER, control=Missing(Cause.DENIED, "not tried"))
    finding = found(machine(container=unseen, nvml=UNKNOWN, libcuda=REFUSED), matrix, "container-cgroup-device-lost")
    assert finding is not None
    assert finding.confidence is Confidence.POSSIBLE
    assert finding.fixes[0].command  # what would settle it
    assert found(machine(container=DOCKER, nvml=UNKNOWN, libcuda=REFUSED), matrix, "container-cgroup-device-lost") is None
    assert outcome(machine(container=unseen), matrix, "container-cgroup-device-lost") is OutcomeKind.COULD_NOT_TELL


def test_an_old_report_of_a_container_is_not_asked_about_what_it_cannot_know(matrix: Matrix) -> None:
    old = machine(container=Container("docker", "/.dockerenv"))
    for name in ("container-cgroup-device-lost", "container-ldcache-stale", "container-shm-too-small", "scheduler-gpu-not-allocated"):
        assert outcome(old, matrix, name) is OutcomeKind.NOT_ASKED, name
    assert outcome(machine(host=ON_WSL), matrix, "wsl-driver-stack-broken") is OutcomeKind.NOT_ASKED


def withheld_nodes(accessible: bool) -> DeviceNodes:
    return DeviceNodes(
        (
            Node("/dev/nvidiactl", mode="0666", uid=0, gid=0, major=195, minor=255, accessible=True),
            *(Node(f"/dev/nvidia{n}", mode="0666", uid=0, gid=0, major=195, minor=n, accessible=accessible) for n in range(2)),
        )
    )


def test_what_a_control_group_withholds_is_no_matter_of_permissions(matrix: Matrix) -> None:
    nodes = withheld_nodes(accessible=False)
    assert found(machine(2, device_nodes=nodes), matrix, "device-permission-denied") is None
    lost = found(machine(2, device_nodes=nodes, container=DOCKER), matrix, "container-cgroup-device-lost")
    assert lost is not None
    assert lost.confidence is Confidence.CERTAIN
    shut = DeviceNodes(tuple(change(node, mode="0660") for node in nodes.nodes))
    assert found(machine(2, device_nodes=shut), matrix, "device-permission-denied") is not None


def test_libraries_of_apptainer_are_found_by_its_path(matrix: Matrix) -> None:
    given = Container("apptainer", "/.singularity.d", driver_files=(DriverFile("/.singularity.d/libs/libcuda.so.1"),))
    finding = found(machine(container=given, libcuda=ABSENT), matrix, "container-ldcache-stale")
    assert finding is not None
    assert finding.fixes[0].command == 'export LD_LIBRARY_PATH=/.singularity.d/libs"${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"'
    assert found(machine(container=given, libcuda=ABSENT), matrix, "container-no-gpu-access") is None


SLURM = Allocation("Slurm", "SLURM_JOB_ID", (), "neither is set", constrained=True)


def test_a_job_on_a_machine_without_loaded_driver_may_lack_more_than_an_allotment(matrix: Matrix) -> None:
    unloaded = machine(kernel_driver=change(machine().kernel_driver, version=ABSENT, gpus=ABSENT), nvml=ABSENT, libcuda=REFUSED)
    finding = found(change(unloaded, allocation=SLURM), matrix, "scheduler-gpu-not-allocated")
    assert finding is not None
    assert finding.confidence is Confidence.POSSIBLE
    blamed = found(change(unloaded, allocation=SLURM), matrix, "no-driver")
    assert blamed is not None
    assert not blamed.because_of


def test_a_job_that_is_not_kept_from_the_gpus(matrix: Matrix) -> None:
    assert found(machine(allocation=SLURM), matrix, "scheduler-gpu-not-allocated") is None
    assert found(machine(allocation=SLURM, libcuda=libcuda(0, 999, "CUDA_ERROR_UNKNOWN")), matrix, "scheduler-gpu-not-allocated") is None
    unsaid = change(SLURM, gpus=Missing(Cause.NOT_STATED, "salloc"))
    hidden = machine(allocation=unsaid, nvml=change(UNKNOWN, init=SUCCESS, gpus=()), libcuda=REFUSED)
    assert outcome(hidden, matrix, "scheduler-gpu-not-allocated") is OutcomeKind.NOT_ASKED


def test_a_job_for_the_cpu_on_a_node_without_gpu_is_excused(matrix: Matrix) -> None:
    finding = found(bare(allocation=SLURM), matrix, "scheduler-gpu-not-allocated", allow_cpu=True)
    assert finding is not None
    assert finding.severity is Severity.NOTE


def test_gpus_of_other_jobs_are_not_counted(matrix: Matrix) -> None:
    share = change(SLURM, gpus=("1",))
    listed = machine(2).nvml
    assert isinstance(listed, Nvml)
    assert isinstance(listed.gpus, tuple)
    mine = change(listed, gpus=listed.gpus[1:])
    snapshot = machine(2, allocation=share, nvml=mine, libcuda=change(libcuda(2), devices=libcuda(2).devices[1:]))  # type: ignore[index]
    assert found(snapshot, matrix, "gpu-count-mismatch") is None
    assert found(change(snapshot, allocation=change(share, constrained=False)), matrix, "gpu-count-mismatch") is not None
    assert found(change(snapshot, allocation=change(share, gpus=("0", "1"))), matrix, "gpu-count-mismatch") is not None


def test_a_linux_driver_that_wins_on_wsl(matrix: Matrix) -> None:
    file = DriverFile("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "550.163.01")
    refused = change(REFUSED, library="/usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01")
    snapshot = bare(host=ON_WSL, wsl=change(WINDOWS, linux_driver=(file,)), libcuda=refused)
    finding = found(snapshot, matrix, "wsl-linux-driver-installed")
    assert finding is not None
    assert finding.confidence is Confidence.CERTAIN
    assert "its libcuda is the one that programs load" in finding.message


def test_on_wsl_what_was_not_seen_is_no_pass(matrix: Matrix) -> None:
    unseen = bare(host=ON_WSL, wsl=Missing(Cause.DENIED, "/usr/lib/wsl: Permission denied"))
    for name in ("wsl-libcuda-not-on-path", "wsl-driver-stack-broken", "wsl-linux-driver-installed", "wsl-multi-gpu-limit"):
        assert outcome(unseen, matrix, name) is OutcomeKind.COULD_NOT_TELL, name
    assert outcome(bare(wsl=NOT_ASKED), matrix, "wsl-driver-stack-broken") is OutcomeKind.NOT_APPLICABLE
