from __future__ import annotations

from graphlib import TopologicalSorter

from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.rule import Join
from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import OutcomeKind, Policy, Severity, Subject, SubjectKind, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, Libcuda, Missing, Nvml, Pci, Status
from tests.builders import ABSENT, card, libcuda, machine, smoke, tensorflow, torch

MISMATCH = Nvml(
    init=Status(18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "Driver/library version mismatch"),
    nvml_version="12.550.163.01",
    gpus=Missing(Cause.FAILED, "nvmlInit: Driver/library version mismatch"),
)
MISMATCHED_CUDA = libcuda(0, 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")


EXPLAINED = [(rule, row, effect) for rule in RULES for row in rule.explains for effect in row.effects]


def test_no_rule_explains_itself_by_way_of_others() -> None:
    graph: dict[str, set[str]] = {}
    for rule, _, effect in EXPLAINED:
        graph.setdefault(effect, set()).add(rule.name)
    assert list(TopologicalSorter(graph).static_order())


def test_every_consequence_has_a_reason_that_is_a_sentence() -> None:
    assert [(rule.name, row.because) for rule, row, _ in EXPLAINED if not (row.because[:1].isalpha() and row.because.endswith("."))] == []


def test_rules_explain_only_rules_that_exist_and_each_once() -> None:
    assert {effect for _, _, effect in EXPLAINED} <= {rule.name for rule in RULES}
    assert len({(rule.name, effect) for rule, _, effect in EXPLAINED}) == len(EXPLAINED)


def test_a_join_by_gpu_or_framework_is_between_rules_about_them() -> None:
    about = {rule.name: rule.about for rule in RULES}
    for rule, row, effect in EXPLAINED:
        if row.join is not Join.MACHINE:
            kind = SubjectKind.GPU if row.join is Join.GPU else SubjectKind.FRAMEWORK
            around = SubjectKind.MACHINE if row.join is Join.GPU else SubjectKind.ENVIRONMENT  # such a rule may find it of one in it
            assert about[effect] is kind
            assert rule.about in {kind, around}


def test_consequences_fold_beneath_their_cause(matrix: Matrix) -> None:
    diagnosis = diagnose(machine(nvml=MISMATCH, libcuda=MISMATCHED_CUDA), matrix, Policy())
    assert [finding.name for finding in diagnosis.root_causes] == ["driver-library-mismatch"]
    folded = {finding.name: finding.because_of for finding in diagnosis.findings if finding.because_of}
    assert folded == {"cuda-init-fails": ("GD202",)}


def test_unchecked_rules_fold_beneath_the_broken_rung(matrix: Matrix) -> None:
    diagnosis = diagnose(machine(nvml=MISMATCH, libcuda=MISMATCHED_CUDA), matrix, Policy())
    unknown = [outcome for outcome in diagnosis.outcomes if outcome.kind is OutcomeKind.COULD_NOT_TELL]
    assert unknown
    assert all(outcome.because_of == ("GD202",) for outcome in unknown)


def test_ignorance_about_something_else_does_not_fold(matrix: Matrix) -> None:
    broken = machine(nvml=MISMATCH, libcuda=MISMATCHED_CUDA, frameworks=Missing(Cause.FAILED, "the interpreter crashed"))
    diagnosis = diagnose(broken, matrix, Policy())
    (unknown,) = [outcome for outcome in diagnosis.outcomes if outcome.name == "framework-missing"]
    assert (unknown.kind, unknown.because_of) == (OutcomeKind.COULD_NOT_TELL, ())


def test_a_cause_of_one_framework_explains_nothing_of_another(matrix: Matrix) -> None:
    blind = smoke(0, framework="torch")
    frameworks = (tensorflow(cuda_build=False), torch())
    diagnosis = diagnose(machine(frameworks=frameworks, smoke=(smoke(0), blind)), matrix, Policy())
    roots = {(finding.name, finding.subject.key) for finding in diagnosis.root_causes}
    assert ("smoke-ran-on-cpu", "torch") in roots
    folded = {(finding.name, finding.subject.key): finding.because_of for finding in diagnosis.findings if finding.because_of}
    assert folded["smoke-ran-on-cpu", "tensorflow"] == ("GD501:tensorflow",), "torch fails too, so TensorFlow's build is an error"


def test_a_milder_finding_explains_no_graver_one(matrix: Matrix) -> None:
    frameworks = (tensorflow(cuda_build=False), torch())
    diagnosis = diagnose(machine(frameworks=frameworks, smoke=(smoke(0),)), matrix, Policy())
    severity = {finding.name: finding.severity for finding in diagnosis.findings}
    assert severity["cpu-only-build"] is Severity.WARNING
    assert next(f for f in diagnosis.findings if f.name == "smoke-ran-on-cpu").because_of == ()


def test_the_only_framework_without_cuda_is_the_root(matrix: Matrix) -> None:
    diagnosis = diagnose(machine(frameworks=(tensorflow(cuda_build=False),), smoke=(smoke(0),)), matrix, Policy())
    assert [finding.name for finding in diagnosis.root_causes] == ["cpu-only-build"]
    assert diagnosis.verdict is Verdict.BROKEN


def test_one_finding_for_a_machine_without_driver(matrix: Matrix) -> None:
    pci = Pci((card(0, driver=ABSENT),))
    nvml = Nvml(init=Status(9, "NVML_ERROR_DRIVER_NOT_LOADED", "Driver Not Loaded"), gpus=Missing(Cause.FAILED, "nvmlInit"))
    snapshot = machine(0, pci=pci, nvml=nvml, kernel_driver=ABSENT, device_nodes=ABSENT, libcuda=libcuda(0, 100, "CUDA_ERROR_NO_DEVICE"))
    diagnosis = diagnose(snapshot, matrix, Policy())
    assert [finding.name for finding in diagnosis.root_causes] == ["no-driver"]
    unexplained = [o for o in diagnosis.outcomes if o.kind is OutcomeKind.COULD_NOT_TELL and not o.because_of]
    assert unexplained == []
    assert isinstance(snapshot.libcuda, Libcuda)
    assert diagnosis.root_causes[0].subject == Subject(SubjectKind.MACHINE)
