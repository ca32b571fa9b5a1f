from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import RemappedRows, SpareRows
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus, xids

RULE = "row-remap-failed"
FAILED = RemappedRows(correctable=3, uncorrectable=2, pending=True, failed=True)


def test_a_failed_remap_explains_a_pending_remap_and_an_exhausted_bank() -> None:
    rows = SpareRows(max=600, high=1, partial=1, low=0, none=1)
    snapshot = with_gpus({"remapped_rows": FAILED, "spare_rows": rows}, kernel_log=xids((64, 0)))
    (finding,) = findings_of(RULE, snapshot)
    assert "(5 remapped before)" in finding.message
    assert finding.evidence[-1].what == "Xid 64"
    for consequence in ("row-remap-pending", "spare-rows-exhausted"):
        assert [folded.because_of for folded in findings_of(consequence, snapshot)] == [(finding.id,)]


def test_other_outcomes() -> None:
    fine = RemappedRows(correctable=3, uncorrectable=2, pending=True, failed=False)
    assert kinds_of(RULE, with_gpus({"remapped_rows": fine})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({"remapped_rows": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
