from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import Cause, Missing, Node
from tests.builders import ABSENT, machine
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
