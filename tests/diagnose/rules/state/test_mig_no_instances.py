from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, MigInstance, Missing
from tests.builders import TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus

RULE = "mig-no-instances"
EMPTY = {"mig_enabled": True, "mig_instances": ()}


def test_a_gpu_without_instances() -> None:
    (finding,) = findings_of(RULE, with_gpus(EMPTY))
    assert [fix.command.rpartition("-i ")[0] for fix in finding.fixes] == ["sudo nvidia-smi ", "sudo nvidia-smi mig "]
    (contained,) = findings_of(RULE, with_gpus(EMPTY, container=in_docker()))
    assert contained.fixes[0].title.startswith("Create an instance on the host")


def test_instances_that_may_not_be_seen() -> None:
    denied = {"mig_enabled": True, "mig_instances": Missing(Cause.DENIED, "no permission")}
    assert kinds_of(RULE, with_gpus(denied)) == [OutcomeKind.COULD_NOT_TELL]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"mig_enabled": True, "mig_instances": (MigInstance(0, uuid="MIG-0"),)})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({"mig_enabled": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
