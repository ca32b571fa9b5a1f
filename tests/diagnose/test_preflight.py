from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import RULES, diagnose
from gpudoctor.diagnose.choose import of_training
from gpudoctor.errors import UsageError
from gpudoctor.findings import Diagnosis, Level, Policy, Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, CudaDevice, Fact, KernelDriver, Libcuda, Missing, Nvml, NvmlGpu, Snapshot
from tests.builders import ABSENT, SUCCESS, TIMED_OUT, address, bare, machine, smoke, tensorflow, torch

GIB = 1 << 30
LOST = Missing(Cause.LOST, "GPU is lost")


def about(snapshot: Snapshot, matrix: Matrix, *wanted: str, level: Level | None = Level.LOOK, **wishes: Any) -> Diagnosis:
    return diagnose(snapshot, matrix, Policy(level=level, require=wanted, **wishes))


def names(diagnosis: Diagnosis) -> list[str]:
    return [finding.name for finding in diagnosis.findings if finding.severity is Severity.ERROR]


def cards(*each: dict[str, Any], cuda: dict[str, Any] | None = None) -> Snapshot:
    """A machine whose NVML says `each` of its GPUs, and whose CUDA says `cuda` of all."""
    whole = machine(len(each))
    gpus = tuple(NvmlGpu(number, **{"address": address(number), "minor": number, **facts}) for number, facts in enumerate(each))
    devices = tuple(CudaDevice(number, address=address(number), **(cuda or {})) for number in range(len(each)))
    return msgspec.structs.replace(
        whole, nvml=Nvml(init=SUCCESS, driver_version="550.163.01", gpus=gpus), libcuda=Libcuda(init=SUCCESS, devices=devices)
    )


HEALTHY = cards({"memory_total": 80 * GIB, "compute_capability": "8.0"}, {"memory_total": 40 * GIB, "compute_capability": "9.0"})


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("driver>=550", []),
        ("driver>=560", ["requirement-not-met"]),
        ("gpus==2", []),
        ("gpus>=3", ["requirement-not-met"]),
        ("gpus==1", ["requirement-not-met"]),
        ("memory>=40GiB", []),
        ("memory>=80GiB", ["requirement-not-met"]),
        ("cc>=8.0", []),
        ("cc>=9.0", ["requirement-not-met"]),
        ("bf16", []),
        ("tensorflow>=2.18", []),
        ("tensorflow", []),
        ("tensorflow<2", ["requirement-not-met"]),
        ("torch", ["framework-missing"]),
    ],
)
def test_what_is_required_is_met_or_an_error(wanted: str, found: list[str], matrix: Matrix) -> None:
    diagnosis = about(HEALTHY, matrix, wanted)
    assert names(diagnosis) == found
    assert diagnosis.verdict is (Verdict.BROKEN if found else Verdict.READY)
    if found:
        assert wanted in diagnosis.findings[0].message


def test_the_message_names_the_gpu_that_is_too_small(matrix: Matrix) -> None:
    message = about(HEALTHY, matrix, "memory>=80GiB").findings[0].message
    assert address(1) in message
    assert "40.0 GiB (42.9 GB)" in message


@pytest.mark.parametrize(
    ("snapshot", "wanted", "why"),
    [
        pytest.param(machine(kernel_driver=TIMED_OUT, nvml=TIMED_OUT), "driver>=550", "gave no sign of life", id="driver"),
        pytest.param(machine(2, libcuda=TIMED_OUT), "gpus==2", "0 of 2 GPUs are usable", id="gpus"),
        pytest.param(cards({"memory_total": TIMED_OUT}, cuda={"memory_total": TIMED_OUT}), "memory>=1GB", "no sign of life", id="memory"),
        pytest.param(cards({"compute_capability": TIMED_OUT}), "cc>=5.0", "no sign of life", id="cc"),
        pytest.param(cards({"compute_capability": TIMED_OUT}), "bf16", "no sign of life", id="bf16"),
        pytest.param(machine(frameworks=TIMED_OUT), "torch", "no sign of life", id="framework"),
        pytest.param(machine(frameworks=(tensorflow(version=ABSENT),)), "tensorflow>=2", "looked for", id="framework's version"),
        pytest.param(machine(frameworks=(torch(version=Fact("master", "x")),)), "torch>=2", "no version", id="odd version"),
        pytest.param(bare(pci=TIMED_OUT), "gpus==0", "no sign of life", id="no bus to be seen"),
        pytest.param(bare(pci=TIMED_OUT), "memory>=1GB", "no sign of life", id="no bus to be seen, of memory"),
    ],
)
def test_what_cannot_be_observed_is_unknown_and_never_met(snapshot: Snapshot, wanted: str, why: str, matrix: Matrix) -> None:
    diagnosis = about(snapshot, matrix, wanted, level=None)
    assert diagnosis.verdict is Verdict.UNKNOWN
    assert diagnosis.exit_code == 3
    assert f"{wanted} could not be told: " in diagnosis.because
    assert why in diagnosis.because
    untold = {outcome.name: outcome.kind.value for outcome in diagnosis.outcomes}
    assert untold["requirement-not-met"] == "could-not-tell"


def test_a_small_gpu_is_found_although_another_is_not_known(matrix: Matrix) -> None:
    snapshot = cards({"memory_total": TIMED_OUT}, {"memory_total": 8 * GIB}, cuda={"memory_total": TIMED_OUT})
    assert names(about(snapshot, matrix, "memory>=16GB")) == ["requirement-not-met"]


def test_no_driver_and_no_gpu_are_lacking_not_unknown(matrix: Matrix) -> None:
    for wanted in ("driver>=550", "gpus>=1", "memory>=1GB", "cc>=5.0", "bf16"):
        diagnosis = about(bare(), matrix, wanted)
        assert names(diagnosis) == ["no-gpu", "required-gpus-missing"]
        assert diagnosis.findings[1].because_of == ("GD101",)


def test_a_driver_whose_version_is_denied_is_unknown(matrix: Matrix) -> None:
    denied = Missing(Cause.DENIED, "/proc/driver/nvidia/version: Permission denied")
    snapshot = machine(kernel_driver=KernelDriver(version=denied), nvml=ABSENT)
    assert "Permission denied" in about(snapshot, matrix, "driver>=550", level=None).because


class TestCountingGpus:
    def test_a_gpu_counts_at_the_rung_that_the_level_asks_for(self, matrix: Matrix) -> None:
        trained = machine(2, smoke=(smoke(2),))
        assert not about(trained, matrix, "gpus==2", level=Level.TRAIN).findings
        assert about(machine(2, smoke=(smoke(1),)), matrix, "gpus==2", level=Level.TRAIN).verdict is not Verdict.READY

    def test_what_any_answer_would_meet_is_met(self, matrix: Matrix) -> None:
        diagnosis = about(machine(2, libcuda=TIMED_OUT), matrix, "gpus<=2", level=None)
        assert diagnosis.verdict is Verdict.READY

    def test_what_no_answer_would_meet_is_not_met(self, matrix: Matrix) -> None:
        assert "requirement-not-met" in names(about(machine(2, libcuda=TIMED_OUT), matrix, "gpus>=3", level=None))

    def test_a_lost_gpu_is_lacking(self, matrix: Matrix) -> None:
        whole = machine(2)
        assert isinstance(whole.libcuda, Libcuda)
        assert isinstance(whole.libcuda.devices, tuple)
        one = msgspec.structs.replace(whole.libcuda, devices=whole.libcuda.devices[:1])
        diagnosis = about(msgspec.structs.replace(whole, libcuda=one), matrix, "gpus==2", level=None)
        assert "required-gpus-missing" in names(diagnosis)
        assert "1 of 2 GPUs are usable" in next(one.message for one in diagnosis.findings if one.code == "GD603")


def test_with_mig_the_memory_is_what_a_program_gets(matrix: Matrix) -> None:
    split = cards({"memory_total": 80 * GIB, "mig_enabled": True}, cuda={"memory_total": 10 * GIB})
    assert names(about(split, matrix, "memory>=40GiB")) == ["requirement-not-met"]


def test_a_required_framework_that_is_missing_stays_an_error_where_another_trains(matrix: Matrix) -> None:
    diagnosis = about(machine(1, smoke=(smoke(1),)), matrix, "torch>=2.4", level=Level.TRAIN)
    assert names(diagnosis) == ["framework-missing"]
    assert "pip install torch==2." in " ".join(fix.command for fix in diagnosis.findings[0].fixes)


def test_nothing_required_is_not_a_pass(matrix: Matrix) -> None:
    kinds = {outcome.name: outcome.kind.value for outcome in about(machine(), matrix).outcomes}
    assert kinds["requirement-not-met"] == kinds["required-gpus-missing"] == "not-applicable"


@pytest.mark.parametrize("wishes", [{"only": ("GD1",)}, {"skip": ("GD602",)}, {"skip": ("framework-missing",)}])
def test_a_requirement_cannot_lose_its_judge(wishes: dict[str, Any], matrix: Matrix) -> None:
    with pytest.raises(UsageError, match="which --require needs"):
        about(machine(), matrix, "gpus==1", **wishes)


def test_a_rule_that_judges_one_requirement_may_be_skipped_with_others(matrix: Matrix) -> None:
    about(HEALTHY, matrix, "gpus==2", skip=("GD113",))
    with pytest.raises(UsageError, match="GD113 gpu-lacks-bf16, which --require needs"):
        about(HEALTHY, matrix, "bf16", skip=("GD113",))


def test_the_reason_of_a_skip_is_kept(matrix: Matrix) -> None:
    policy = Policy(level=Level.LOOK, skip=("GD10", "no-driver", "GD101"), reasons={"GD10": "a laptop", "no-driver": "in a bag"})
    skipped = {rule.name: rule.reason for rule in diagnose(bare(), matrix, policy).skipped}
    assert skipped["no-gpu"] == skipped["gpu-fell-off-bus"] == "a laptop"
    assert skipped["no-driver"] == "in a bag"
    only = diagnose(bare(), matrix, Policy(level=Level.LOOK, only=("GD1",), skip=("GD101", "GD201"))).skipped
    assert [(rule.code, rule.name, rule.reason) for rule in only] == [("GD101", "no-gpu", "")]


def test_a_framework_that_was_named_and_is_not_there_is_an_error(matrix: Matrix) -> None:
    diagnosis = about(HEALTHY, matrix, frameworks=("tensorflow", "torch"))
    (finding,) = diagnosis.findings
    assert (finding.name, finding.title) == ("framework-missing", "torch is requested with --framework but not installed")
    assert diagnosis.verdict is Verdict.BROKEN
    both = about(HEALTHY, matrix, "torch>=2.4", frameworks=("torch",))
    assert [one.title for one in both.findings] == ["torch>=2.4 is required but not installed"]
    assert names(about(HEALTHY, matrix, frameworks=("tensorflow",))) == []


def test_the_rules_of_a_training() -> None:
    chosen = of_training(RULES)
    assert {rule.code for rule in RULES if rule.severity is Severity.ERROR} < set(chosen)
    assert {"GD601", "GD906", "GD111", "GD507"} <= set(chosen)
    assert not {rule.code for rule in RULES if rule.severity is Severity.NOTE} & set(chosen)
    assert "GD305" not in chosen
