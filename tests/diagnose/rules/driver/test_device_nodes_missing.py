from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import Cause, DeviceNodes, Missing, Node, Pci, ProcGpu
from tests.builders import ABSENT, address, card, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.loaded import failing, kernel_driver

RULE = "device-nodes-missing"


@pytest.mark.parametrize(("major", "stale"), [(506, True), (507, False)])
def test_a_node_with_another_drivers_number(major: int, *, stale: bool) -> None:
    nodes = (Node("/dev/nvidiactl", major=195), Node("/dev/nvidia0", major=195), Node("/dev/nvidia-uvm", major=major))
    files = msgspec.structs.replace(machine().device_nodes, nodes=nodes)
    findings = findings_of(RULE, failing(kernel_driver=kernel_driver(), device_nodes=files))
    assert [finding.confidence for finding in findings] == [Confidence.CERTAIN] * stale
    assert [finding.fixes[0].command for finding in findings] == ["sudo nvidia-modprobe -u -c 0"] * stale


def test_files_that_are_missing_while_cuda_fails() -> None:
    (finding,) = findings_of(RULE, failing(kernel_driver=kernel_driver(), device_nodes=ABSENT))
    assert finding.message == "The NVIDIA driver is loaded, but /dev/nvidiactl, /dev/nvidia0 and /dev/nvidia-uvm are missing."
    assert finding.fixes[0].command == "sudo nvidia-modprobe -c 255 -c 0 && sudo nvidia-modprobe -u -c 0"


def test_a_file_that_is_missing_while_all_works_is_no_finding() -> None:
    assert kinds_of(RULE, machine(1, kernel_driver=kernel_driver(), device_nodes=ABSENT)) == [OutcomeKind.PASSED]


def test_files_that_cannot_be_seen_are_ignorance() -> None:
    hidden = Missing(Cause.DENIED, "/dev is not readable")
    assert kinds_of(RULE, failing(kernel_driver=kernel_driver(), device_nodes=hidden)) == [OutcomeKind.COULD_NOT_TELL]


LOST = ProcGpu(address(1), minor=1)


@pytest.mark.parametrize(
    ("lost", "changes", "is_found"),
    [
        (LOST, {}, True),
        (msgspec.structs.replace(LOST, minor=ABSENT), {}, False),
        (msgspec.structs.replace(LOST, minor=0), {}, False),
        (msgspec.structs.replace(LOST, excluded=True), {}, False),
        (msgspec.structs.replace(LOST, excluded=False), {}, True),
        (LOST, {"pci": Pci((card(0), card(1, driver="vfio-pci")))}, False),
        (LOST, {"libcuda_unmasked": libcuda(2)}, False),
        (LOST, {"nvml": machine(2).nvml}, False),
    ],
    ids=[
        "lost",
        "without a minor",
        "of another GPU's minor",
        "excluded",
        "not excluded",
        "passed through",
        "listed by CUDA",
        "listed by NVML",
    ],
)
def test_a_gpu_whose_file_is_missing_is_found_if_nothing_opens_it(lost: ProcGpu, changes: dict[str, Any], is_found: bool) -> None:
    files = DeviceNodes((Node("/dev/nvidiactl", major=195), Node("/dev/nvidia0", major=195)))
    driver = kernel_driver(gpus=(ProcGpu(address(0), minor=0), lost))
    sections: dict[str, Any] = {"pci": Pci((card(0), card(1))), **changes}
    found = findings_of(RULE, machine(1, kernel_driver=driver, device_nodes=files, **sections))
    assert [(finding.subject.key, finding.fixes[0].command) for finding in found] == [(address(1), "sudo nvidia-modprobe -c 1")] * is_found
