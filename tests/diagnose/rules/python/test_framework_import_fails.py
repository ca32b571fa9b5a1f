"""GD643 framework-import-fails."""

from __future__ import annotations

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Snapshot, Stage, StageKind, StageState
from tests.builders import machine, smoke
from tests.diagnose.rules.asking import findings_of

RULE = "framework-import-fails"


def failing(error: str, kind: StageKind = StageKind.IMPORT) -> Snapshot:
    """A machine on which a stage of training fails with this error."""
    stopped = smoke(framework="tensorflow", stages=(Stage(kind, StageState.FAILED, error=error),), kernels=(), trainings=())
    return machine(smoke=(stopped,))


def roots(snapshot: Snapshot, matrix: Matrix) -> list[str]:
    """The causes, without notes."""
    found = diagnose(snapshot, matrix, Policy()).root_causes
    return [finding.name for finding in found if finding.severity is not Severity.NOTE]


def test_an_import_that_fails_without_a_known_cause_is_one() -> None:
    (finding,) = findings_of(RULE, failing("ImportError: libgomp.so.1: cannot allocate memory in static TLS block"))
    assert "`import tensorflow` fails: ImportError: libgomp.so.1" in finding.message


def test_the_failed_stage_folds_beneath_it(matrix: Matrix) -> None:
    assert roots(failing("ImportError: no reason"), matrix) == [RULE]


def test_a_known_cause_leads(matrix: Matrix) -> None:
    assert roots(failing("ImportError: libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent"), matrix) == ["mkl-version-incompatible"]


def test_a_known_cause_in_the_output_leads(matrix: Matrix) -> None:
    (stopped,) = failing("ImportError: no reason").smoke  # type: ignore[misc]
    told = msgspec.structs.replace(stopped, output="libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent")
    assert roots(machine(smoke=(told,)), matrix) == ["mkl-version-incompatible"]


def test_a_later_stage_is_no_import() -> None:
    assert findings_of(RULE, failing("RuntimeError: no reason", StageKind.KERNEL)) == []


def test_a_machine_in_order_has_no_such_finding() -> None:
    assert findings_of(RULE, machine(smoke=(smoke(framework="tensorflow"),))) == []
