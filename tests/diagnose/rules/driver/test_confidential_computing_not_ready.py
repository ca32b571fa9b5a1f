from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Nvml, Snapshot
from tests.builders import TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of

RULE = "confidential-computing-not-ready"


def confidential(**facts: Any) -> Snapshot:
    nvml = machine().nvml
    assert isinstance(nvml, Nvml)
    return machine(nvml=msgspec.structs.replace(nvml, **facts))


def test_gpus_that_accept_no_work_yet() -> None:
    (finding,) = findings_of(RULE, confidential(confidential=True, confidential_ready=False))
    assert finding.fixes[0].command == "sudo nvidia-smi conf-compute -srs 1"


def test_confidential_computing_that_this_driver_does_not_know() -> None:
    assert kinds_of(RULE, confidential(confidential=UNSUPPORTED)) == [OutcomeKind.NOT_APPLICABLE]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, confidential(confidential=True, confidential_ready=True)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, confidential(confidential=False)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, confidential(confidential=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


def test_in_a_container_the_vm_sets_them_to_ready() -> None:
    whole = confidential(confidential=True, confidential_ready=False)
    (finding,) = findings_of(RULE, msgspec.structs.replace(whole, container=in_docker()))
    assert finding.fixes[0].command == ""
    assert finding.fixes[0].title.endswith("in the VM that the container runs on.")
