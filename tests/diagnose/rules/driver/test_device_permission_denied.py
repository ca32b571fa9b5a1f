from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Action, OutcomeKind
from gpudoctor.snapshot import DeviceNodes, Node, Nvml, Status
from tests.builders import ABSENT, TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "device-permission-denied"
SHUT = Node("/dev/nvidia0", mode="0660", uid=0, gid=44, group="video", accessible=False)


def test_the_user_joins_the_group() -> None:
    (finding,) = findings_of(RULE, machine(1, device_nodes=DeviceNodes((SHUT,))))
    assert finding.message == "User 1000 cannot open /dev/nvidia0: permission denied; CUDA initialised anyway."
    assert finding.fixes[0].command == 'sudo usermod -aG video "$USER"'


def test_in_a_container_the_group_is_added_at_its_start() -> None:
    (finding,) = findings_of(RULE, machine(1, container=in_docker(), device_nodes=DeviceNodes((SHUT,))))
    assert finding.fixes[0].action is Action.RESTART_JOB
    assert finding.fixes[0].command == ""
    assert "--group-add" in finding.fixes[0].title


def test_nvml_says_so_without_a_file_that_shows_it() -> None:
    refused = Nvml(init=Status(4, "NVML_ERROR_NO_PERMISSION", "Insufficient Permissions"), gpus=ABSENT)
    (finding,) = findings_of(RULE, machine(1, nvml=refused))
    assert finding.message == "User 1000 cannot use NVML: insufficient permissions; CUDA initialised anyway."
    assert finding.evidence[0].value == "4 Insufficient Permissions"


def test_other_outcomes() -> None:
    open_node = msgspec.structs.replace(SHUT, accessible=True)
    assert kinds_of(RULE, machine(1, device_nodes=DeviceNodes((open_node,)))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, device_nodes=ABSENT)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, device_nodes=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(("count", "files"), [(3, "and /dev/nvidia2: permission"), (5, "/dev/nvidia2 and 2 more: permission")])
def test_the_first_few_files_are_named(count: int, files: str) -> None:
    nodes = tuple(msgspec.structs.replace(SHUT, path=f"/dev/nvidia{number}") for number in range(count))
    (finding,) = findings_of(RULE, machine(count, device_nodes=DeviceNodes(nodes)))
    assert finding.message.partition("/dev/nvidia1")[2].lstrip(", ").startswith(files)
    assert len(finding.evidence) == count
