from __future__ import annotations

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.rules import RULES
from gpudoctor.errors import UsageError
from gpudoctor.findings import Level, OutcomeKind, Policy, Rung, Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import NOT_ASKED, Cause, LeftAlone, Missing, Snapshot, decode_snapshot, encode_snapshot
from tests.builders import ABSENT, TIMED_OUT, address, bare, card, machine, smoke, tensorflow, torch, touched, training
from tests.read.reading import read

TRAINED = machine(2, smoke=(smoke(2),))
ON_CPU = bare(smoke=(smoke(0, trainings=(training(None),)),))
BUSY = machine(
    1, smoke=(smoke(1, kernels=(), trainings=(), devices=ABSENT, left_alone=(LeftAlone(address(0), "in use by 1 other process"),)),)
)
CRASHED_PROBE = machine(pci=Missing(Cause.CRASHED, "ValueError in the probe"))
PASSED_THROUGH = machine(0, pci=machine(1).pci)


def answer(snapshot: Snapshot, matrix: Matrix, **wishes: object) -> tuple[Verdict, int]:
    diagnosis = diagnose(snapshot, matrix, Policy(**wishes))  # type: ignore[arg-type]
    return diagnosis.verdict, diagnosis.exit_code


@pytest.mark.parametrize(
    ("snapshot", "wishes", "verdict", "code"),
    [
        pytest.param(TRAINED, {}, Verdict.READY, 0, id="every GPU trained"),
        pytest.param(machine(2), {"level": Level.LOOK}, Verdict.READY, 0, id="looked at and in order"),
        pytest.param(machine(2), {"level": Level.TOUCH}, Verdict.UNKNOWN, 3, id="touch asks for a kernel"),
        pytest.param(machine(2, smoke=(smoke(2),)), {"level": Level.TOUCH}, Verdict.READY, 0, id="kernels of a framework will do"),
        pytest.param(machine(2, contexts=touched(2)), {"level": Level.TOUCH}, Verdict.READY, 0, id="a kernel of ours ran on both"),
        pytest.param(machine(2, contexts=touched(1)), {"level": Level.TOUCH}, Verdict.UNKNOWN, 3, id="it ran on one of two"),
        pytest.param(machine(2, contexts=touched(2)), {}, Verdict.UNKNOWN, 3, id="it ran, and training was not shown"),
        pytest.param(bare(), {"allow_cpu": True, "level": Level.TOUCH}, Verdict.READY, 0, id="CPU allowed, nothing to touch"),
        pytest.param(machine(2), {}, Verdict.UNKNOWN, 3, id="training was not shown"),
        pytest.param(machine(2), {"level": None}, Verdict.READY, 0, id="no rung required"),
        pytest.param(machine(2, smoke=(smoke(1),)), {}, Verdict.UNKNOWN, 3, id="one of two GPUs trained"),
        pytest.param(BUSY, {}, Verdict.UNKNOWN, 3, id="the GPU is in use"),
        pytest.param(machine(frameworks=()), {}, Verdict.UNKNOWN, 3, id="no framework"),
        pytest.param(machine(frameworks=()), {"level": Level.LOOK}, Verdict.UNKNOWN, 3, id="a look without a framework"),
        pytest.param(machine(frameworks=()), {"level": None}, Verdict.UNKNOWN, 3, id="a report without a framework"),
        pytest.param(machine(frameworks=TIMED_OUT), {"level": Level.LOOK}, Verdict.UNKNOWN, 3, id="nobody could look for a framework"),
        pytest.param(machine(frameworks=NOT_ASKED), {"level": Level.LOOK, "node": True}, Verdict.READY, 0, id="the machine alone"),
        pytest.param(machine(libcuda=TIMED_OUT), {"level": Level.LOOK}, Verdict.UNKNOWN, 3, id="CUDA timed out"),
        pytest.param(machine(nvml=ABSENT), {"level": Level.LOOK}, Verdict.UNKNOWN, 3, id="nobody asked NVML"),
        pytest.param(machine(nvml=ABSENT, smoke=(smoke(),)), {}, Verdict.READY, 0, id="trains without NVML"),
        pytest.param(bare(), {}, Verdict.BROKEN, 1, id="no GPU"),
        pytest.param(bare(pci=TIMED_OUT), {"level": Level.LOOK}, Verdict.UNKNOWN, 3, id="nobody could look for a GPU"),
        pytest.param(ON_CPU, {"allow_cpu": True}, Verdict.READY, 0, id="CPU allowed and shown"),
        pytest.param(ON_CPU, {}, Verdict.BROKEN, 1, id="CPU shown and not allowed"),
        pytest.param(bare(), {"allow_cpu": True}, Verdict.UNKNOWN, 3, id="CPU allowed and not shown"),
        pytest.param(bare(), {"allow_cpu": True, "level": Level.LOOK}, Verdict.READY, 0, id="CPU allowed, nothing to train"),
        pytest.param(machine(libcuda=ABSENT), {"allow_cpu": True}, Verdict.UNKNOWN, 3, id="the CPU excuses no GPU"),
        pytest.param(CRASHED_PROBE, {"level": Level.LOOK}, Verdict.UNKNOWN, 4, id="a probe of ours crashed"),
    ],
)
def test_verdict_and_exit_code(snapshot: Snapshot, wishes: dict[str, object], verdict: Verdict, code: int, matrix: Matrix) -> None:
    assert answer(snapshot, matrix, **wishes) == (verdict, code)


def test_a_gpu_set_aside_for_a_guest_is_asked_for_nothing(matrix: Matrix) -> None:
    snapshot, both = machine(1), machine(2)
    assert not isinstance(both.pci, Missing)
    aside = (both.pci.devices[0], card(1, driver="vfio-pci"))
    pci = msgspec.structs.replace(both.pci, devices=aside)
    assert answer(msgspec.structs.replace(snapshot, pci=pci), matrix, level=Level.LOOK) == (Verdict.READY, 0)


def test_a_machine_whose_only_gpu_is_set_aside_cannot_train(matrix: Matrix) -> None:
    assert not isinstance(PASSED_THROUGH.pci, Missing)
    pci = msgspec.structs.replace(PASSED_THROUGH.pci, devices=(card(0, driver="vfio-pci"),))
    assert answer(msgspec.structs.replace(PASSED_THROUGH, pci=pci), matrix, level=Level.LOOK) == (Verdict.BROKEN, 1)


def test_fail_on_warning(matrix: Matrix) -> None:
    frameworks = (tensorflow(), torch(cuda_build=False))
    degraded = machine(frameworks=frameworks)
    assert answer(degraded, matrix, level=Level.LOOK) == (Verdict.DEGRADED, 0)
    assert answer(degraded, matrix, level=Level.LOOK, fail_on=Severity.WARNING) == (Verdict.DEGRADED, 1)


def test_a_green_states_its_scope(matrix: Matrix) -> None:
    assert diagnose(TRAINED, matrix, Policy()).proved_to.text == "trained on 2 of 2 GPUs"
    looked = diagnose(machine(8), matrix, Policy(level=Level.LOOK)).proved_to
    assert (looked.rung, looked.gpus, looked.of) == (Rung.LIBCUDA, 8, 8)
    assert "CPU" in diagnose(ON_CPU, matrix, Policy(allow_cpu=True)).proved_to.text


def test_unknown_says_what_was_not_verified_and_why(matrix: Matrix) -> None:
    because = diagnose(machine(8, libcuda=TIMED_OUT), matrix, Policy(level=Level.LOOK)).because
    assert because.startswith("CUDA was not verified on GPUs 0–7: ")  # noqa: RUF001 -- a dash joins neighbours
    assert TIMED_OUT.reason in because


@pytest.mark.parametrize("snapshot", [TRAINED, ON_CPU, BUSY, bare(), machine(2)])
def test_a_snapshot_read_back_gives_the_same_diagnosis_byte_for_byte(snapshot: Snapshot, matrix: Matrix) -> None:
    now, later = (msgspec.json.encode(diagnose(one, matrix, Policy())) for one in (snapshot, decode_snapshot(encode_snapshot(snapshot))))
    assert now == later


def test_only_and_skip_choose_rules(matrix: Matrix) -> None:
    only = diagnose(bare(), matrix, Policy(only=("GD1",), skip=("amd-gpu-unsupported",)))
    family = {rule.name for rule in RULES if rule.code.startswith("GD1") and rule.about.value != "gpu"}
    assert {outcome.name for outcome in only.outcomes} == family - {"amd-gpu-unsupported"} > {"no-gpu"}
    skipped = diagnose(bare(), matrix, Policy(skip=("gd101",)))
    assert {outcome.name for outcome in skipped.outcomes} == {
        rule.name for rule in RULES if rule.about.value in {"machine", "environment"}
    } - {"no-gpu"} | {rule.name for rule in RULES if rule.about.value == "framework"}


@pytest.mark.parametrize("wishes", [{"only": ("GD999",)}, {"skip": ("GD",)}, {"only": ("GD101",), "skip": ("no-gpu",)}])
def test_a_choice_that_cannot_be_is_an_error(wishes: dict[str, tuple[str, ...]], matrix: Matrix) -> None:
    with pytest.raises(UsageError, match=r"gpudoctor rules|did you mean"):
        diagnose(bare(), matrix, msgspec.convert(wishes, Policy))


def test_what_was_not_skipped_has_an_outcome(matrix: Matrix) -> None:
    outcomes = diagnose(TRAINED, matrix, Policy(), RULES).outcomes
    assert {outcome.name for outcome in outcomes} == {rule.name for rule in RULES}
    assert all(outcome.kind is not OutcomeKind.CRASHED for outcome in outcomes)


@pytest.mark.parametrize(
    ("line", "because"),
    [
        ("", "no error was found in the text, which does not show that training works"),
        ("all_reduce hangs", "no cause of an error was found in the text, which does not show that training works"),
        ("foo 1.0 requires numpy<2, but you have numpy 2.1.0 which is incompatible.", "the text does not show that training works"),
    ],
)
def test_a_text_with_a_warning_is_not_said_to_be_without_fault(line: str, because: str, matrix: Matrix) -> None:
    snapshot = read(f"torch==2.7.0+cu128\n{line}\n", matrix)
    assert diagnose(snapshot, matrix, Policy(level=None)).because == because


@pytest.mark.parametrize(
    ("only", "verdict"), [("GD619", Verdict.UNKNOWN), ("script-folder-hides-package", Verdict.UNKNOWN), ("GD6", Verdict.READY)]
)
def test_a_rule_that_was_named_and_could_not_look_is_unknown(only: str, verdict: Verdict, matrix: Matrix) -> None:
    assert answer(machine(2), matrix, level=Level.LOOK, only=(only,))[0] is verdict
