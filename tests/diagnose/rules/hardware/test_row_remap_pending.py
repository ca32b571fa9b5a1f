from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import RemappedRows
from tests.builders import TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus, xids

RULE = "row-remap-pending"
PENDING = {"remapped_rows": RemappedRows(correctable=0, uncorrectable=1, pending=True, failed=False)}


def test_a_pending_row_asks_for_a_reset() -> None:
    (finding,) = findings_of(RULE, with_gpus(PENDING, kernel_log=xids((63, 0))))
    assert finding.fixes[0].command.startswith("sudo nvidia-smi --gpu-reset")
    assert finding.evidence[-1].what == "Xid 63"


def test_in_a_container_the_host_resets_it() -> None:
    (finding,) = findings_of(RULE, with_gpus(PENDING, container=in_docker()))
    assert (finding.fixes[0].command, "host" in finding.fixes[0].title) == ("", True)


def test_other_outcomes() -> None:
    settled = RemappedRows(correctable=1, uncorrectable=0, pending=False, failed=False)
    assert kinds_of(RULE, with_gpus({"remapped_rows": settled})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({"remapped_rows": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
