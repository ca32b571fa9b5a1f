from __future__ import annotations

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import Cause, Missing
from tests.builders import in_docker, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import DOCKER, REFUSED, UNKNOWN, change, nodes

RULE = "container-cgroup-device-lost"


def test_an_unknown_error_alone_makes_it_possible() -> None:
    unseen = change(DOCKER, control=Missing(Cause.DENIED, "not tried"))
    (finding,) = findings_of(RULE, machine(container=unseen, nvml=UNKNOWN, libcuda=REFUSED))
    assert finding.confidence is Confidence.POSSIBLE
    assert finding.fixes[0].command == "cat /dev/nvidiactl"
    assert findings_of(RULE, machine(container=DOCKER, nvml=UNKNOWN, libcuda=REFUSED)) == []
    assert kinds_of(RULE, machine(container=unseen)) == [OutcomeKind.COULD_NOT_TELL]


def test_what_the_control_group_blocks_is_not_a_matter_of_permissions() -> None:
    blocked = nodes(accessible=False)
    assert findings_of("device-permission-denied", machine(2, device_nodes=blocked)) == []
    (finding,) = findings_of(RULE, machine(2, device_nodes=blocked, container=DOCKER))
    assert finding.confidence is Confidence.CERTAIN
    assert findings_of("device-permission-denied", machine(2, device_nodes=nodes(accessible=False, mode="0660")))


def test_a_refused_control_device_is_proof() -> None:
    (finding,) = findings_of(RULE, machine(container=change(DOCKER, control="EPERM")))
    assert finding.confidence is Confidence.CERTAIN


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine()) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(container=in_docker())) == [OutcomeKind.NOT_ASKED]
