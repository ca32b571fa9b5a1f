import msgspec
import pytest

from gpudoctor.derive import FrameworkView, GpuView, MachineView
from gpudoctor.derive.rule_endings import not_applicable
from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.engine import run_rules
from gpudoctor.diagnose.rule import Rule, rule
from gpudoctor.findings import Confidence, Diagnosis, OutcomeKind, Policy, Problem, Problems, Rung, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, Missing, Nvml, NvmlGpu, Snapshot
from tests.builders import ABSENT, TIMED_OUT, bare, machine, smoke, tensorflow, torch


@rule("GD001", severity=Severity.ERROR, breaks=Rung.NVML, since="0")
def says_what_it_saw(machine: MachineView) -> Problems:
    """Finds something."""
    yield Problem(message=f"saw {machine.nvml.driver_version}")


@rule("GD002", severity=Severity.WARNING, breaks=Rung.LIBCUDA, since="0")
def finds_then_fails(machine: MachineView) -> Problems:
    """Finds something, then meets what it does not know."""
    yield Problem(message="first")
    yield Problem(message=f"second, beside {len(machine.pci.devices)} devices")


@rule("GD003", severity=Severity.ERROR, breaks=Rung.SLOT, since="0")
def crashes(machine: MachineView) -> Problems:
    """Finds something, then has a defect."""
    yield Problem(message=machine.observed.created)
    raise ZeroDivisionError("one by none")


@rule("GD004", severity=Severity.ERROR, breaks=Rung.NVML, since="0")
def about_each_gpu(gpu: GpuView) -> Problems:
    """Says something of each GPU whose memory is known."""
    if not isinstance(gpu.observed.nvml, NvmlGpu):
        not_applicable("NVML does not list it")
    yield Problem(message=f"{gpu.memory_total} bytes")


@rule("GD005", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0")
def about_each_framework(framework: FrameworkView) -> Problems:
    """Predicts that a framework cannot use the GPU."""
    yield Problem(message=framework.name, confidence=Confidence.LIKELY)


@rule("GD006", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0")
def predicts(machine: MachineView) -> Problems:
    """Predicts that CUDA does not start."""
    yield Problem(message=f"it will not start, whatever {type(machine.observed.libcuda).__name__} says")


@rule("GD007", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0", predicts=False)
def looks_at_training(framework: FrameworkView) -> Problems:
    """Says what a training showed."""
    yield Problem(message=framework.smoke.framework)


def outcome_of(one: Rule, snapshot: Snapshot, matrix: Matrix) -> tuple[list[OutcomeKind], list[str]]:
    runs = run_rules((one,), MachineView(snapshot, matrix, Policy()))
    return [run.outcome.kind for run in runs], [finding.message for run in runs for finding in run.findings]


def test_a_problem_is_found_and_stamped(matrix: Matrix) -> None:
    (run,) = run_rules((says_what_it_saw,), MachineView(machine(), matrix, Policy()))
    (finding,) = run.findings
    assert run.outcome.kind is OutcomeKind.FOUND
    assert (finding.code, finding.name, finding.title, finding.id) == ("GD001", "says-what-it-saw", "Finds something", "GD001")


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (Cause.ABSENT, OutcomeKind.COULD_NOT_TELL),
        (Cause.DENIED, OutcomeKind.COULD_NOT_TELL),
        (Cause.TIMED_OUT, OutcomeKind.COULD_NOT_TELL),
        (Cause("some day"), OutcomeKind.COULD_NOT_TELL),
        (Cause.NOT_ASKED, OutcomeKind.NOT_ASKED),
        (Cause.NOT_STATED, OutcomeKind.NOT_ASKED),
    ],
)
def test_a_missing_section_is_never_a_pass(cause: Cause, kind: OutcomeKind, matrix: Matrix) -> None:
    assert outcome_of(says_what_it_saw, machine(nvml=Missing(cause, "why")), matrix) == ([kind], [])


def test_what_was_found_before_an_unknown_stays(matrix: Matrix) -> None:
    assert outcome_of(finds_then_fails, machine(pci=TIMED_OUT), matrix) == ([OutcomeKind.FOUND], ["first; CUDA initialised anyway."])


def test_a_crash_keeps_what_was_found_and_hides_no_other_rule(matrix: Matrix) -> None:
    diagnosis = diagnose(machine(), matrix, Policy(level=None), (crashes, says_what_it_saw))
    assert [outcome.kind for outcome in diagnosis.outcomes] == [OutcomeKind.CRASHED, OutcomeKind.FOUND]
    assert "ZeroDivisionError: one by none" in diagnosis.outcomes[0].reason
    assert len(diagnosis.findings) == 2


def test_each_gpu_has_its_own_outcome(matrix: Matrix) -> None:
    snapshot = machine(2)
    assert isinstance(snapshot.nvml, Nvml)
    assert not isinstance(snapshot.nvml.gpus, Missing)
    known = msgspec.structs.replace(snapshot.nvml.gpus[0], memory_total=80)
    unknown = msgspec.structs.replace(snapshot.nvml.gpus[1], memory_total=TIMED_OUT)
    nvml = msgspec.structs.replace(snapshot.nvml, gpus=(known, unknown))
    found = outcome_of(about_each_gpu, machine(2, nvml=nvml), matrix)
    assert found == ([OutcomeKind.FOUND, OutcomeKind.COULD_NOT_TELL], ["80 bytes; CUDA initialised anyway."])


def test_a_rule_may_have_nothing_to_say(matrix: Matrix) -> None:
    assert outcome_of(about_each_gpu, machine(nvml=ABSENT), matrix) == ([OutcomeKind.NOT_APPLICABLE], [])


def test_a_framework_that_was_not_trained_with_was_not_asked(matrix: Matrix) -> None:
    trained = machine(smoke=(smoke(),), frameworks=(tensorflow(), torch()))
    assert outcome_of(looks_at_training, trained, matrix) == ([OutcomeKind.FOUND, OutcomeKind.NOT_ASKED], ["tensorflow"])


def severities(diagnosis: Diagnosis) -> list[tuple[str, Severity]]:
    return [(finding.id, finding.severity) for finding in diagnosis.findings]


def test_observation_beats_inference_for_the_same_framework(matrix: Matrix) -> None:
    trained = machine(smoke=(smoke(),), frameworks=(tensorflow(), torch()))
    found = severities(diagnose(trained, matrix, Policy(), (about_each_framework,)))
    assert found == [("GD005:torch", Severity.ERROR), ("GD005:tensorflow", Severity.NOTE)]


def test_observation_beats_inference_for_the_machine(matrix: Matrix) -> None:
    assert severities(diagnose(machine(libcuda=ABSENT), matrix, Policy(), (predicts,))) == [("GD006", Severity.ERROR)]
    assert severities(diagnose(machine(), matrix, Policy(), (predicts,))) == [("GD006", Severity.NOTE)]


def test_an_observed_failure_is_not_talked_away(matrix: Matrix) -> None:
    diagnosis = diagnose(machine(smoke=(smoke(),)), matrix, Policy(), (looks_at_training,))
    assert severities(diagnosis) == [("GD007:tensorflow", Severity.ERROR)]


def test_roots_are_ordered_by_severity_confidence_rung_and_code(matrix: Matrix) -> None:
    rules = (about_each_framework, says_what_it_saw, finds_then_fails, crashes)
    diagnosis = diagnose(machine(0), matrix, Policy(level=None), rules)
    assert [finding.id for finding in diagnosis.findings] == ["GD003", "GD001", "GD005:tensorflow", "GD002", "GD002#2"]


def test_a_driver_that_is_absent_where_there_is_no_gpu_is_no_riddle(matrix: Matrix) -> None:
    assert outcome_of(says_what_it_saw, bare(), matrix)[0] == [OutcomeKind.NOT_APPLICABLE]
    assert outcome_of(says_what_it_saw, bare(pci=TIMED_OUT), matrix)[0] == [OutcomeKind.COULD_NOT_TELL]
