from __future__ import annotations

import operator

import msgspec
import pytest

from gpudoctor.findings import Level, Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, Fact, KernelDriver, Missing, Pci, Snapshot
from tests.builders import ABSENT, TIMED_OUT, address, bare, card, libcuda, machine, smoke, tensorflow, torch
from tests.diagnose.rules.python.required import GIB, HEALTHY, about, cards, names


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


def test_a_gpu_is_too_small_whether_or_not_cuda_works_on_it(matrix: Matrix) -> None:
    failing = msgspec.structs.replace(HEALTHY, libcuda=libcuda(2, 999, "CUDA_ERROR_UNKNOWN"))
    (message,) = [finding.message for finding in about(failing, matrix, "memory>=80GiB").findings if finding.name == "requirement-not-met"]
    assert address(1) in message
    assert "40.0 GiB (42.9 GB)" in message


@pytest.mark.parametrize(
    ("snapshot", "wanted", "why"),
    [
        pytest.param(machine(kernel_driver=TIMED_OUT, nvml=TIMED_OUT), "driver>=550", "did not respond", id="driver"),
        pytest.param(machine(2, libcuda=TIMED_OUT), "gpus==2", "CUDA initialised on 0 of 2 GPUs", id="gpus"),
        pytest.param(cards({"memory_total": TIMED_OUT}, cuda={"memory_total": TIMED_OUT}), "memory>=1GB", "did not respond", id="memory"),
        pytest.param(cards({"compute_capability": TIMED_OUT}), "cc>=5.0", "did not respond", id="cc"),
        pytest.param(cards({"compute_capability": TIMED_OUT}), "bf16", "did not respond", id="bf16"),
        pytest.param(machine(frameworks=TIMED_OUT), "torch", "did not respond", id="framework"),
        pytest.param(machine(frameworks=(tensorflow(version=ABSENT),)), "tensorflow>=2", "looked for", id="framework's version"),
        pytest.param(machine(frameworks=(torch(version=Fact("master", "x")),)), "torch>=2", "not a comparable version", id="odd version"),
        pytest.param(bare(pci=TIMED_OUT), "gpus==0", "did not respond", id="no bus to be seen"),
        pytest.param(bare(pci=TIMED_OUT), "memory>=1GB", "did not respond", id="no bus to be seen, of memory"),
    ],
)
def test_what_cannot_be_observed_is_unknown_and_never_met(snapshot: Snapshot, wanted: str, why: str, matrix: Matrix) -> None:
    diagnosis = about(snapshot, matrix, wanted, level=None)
    assert diagnosis.verdict is Verdict.UNKNOWN
    assert diagnosis.exit_code == 3
    assert f"{wanted} was not checked: " in diagnosis.because
    assert why in diagnosis.because
    untold = {outcome.name: outcome.kind.value for outcome in diagnosis.outcomes}
    assert untold["requirement-not-met"] == "could-not-tell"


def test_a_small_gpu_is_found_although_another_is_not_known(matrix: Matrix) -> None:
    snapshot = cards({"memory_total": TIMED_OUT}, {"memory_total": 8 * GIB}, cuda={"memory_total": TIMED_OUT})
    assert names(about(snapshot, matrix, "memory>=16GB")) == ["requirement-not-met"]


def test_a_driver_whose_version_is_denied_is_unknown(matrix: Matrix) -> None:
    denied = Missing(Cause.DENIED, "/proc/driver/nvidia/version: Permission denied")
    snapshot = machine(kernel_driver=KernelDriver(version=denied), nvml=ABSENT)
    assert "Permission denied" in about(snapshot, matrix, "driver>=550", level=None).because


COMPARISONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class TestCountingGpus:
    @pytest.mark.parametrize("there", range(3))
    @pytest.mark.parametrize("sign", COMPARISONS)
    def test_every_comparison_is_that_of_numbers_with_gpus_and_without(self, sign: str, there: int, matrix: Matrix) -> None:
        for wanted in range(4):
            requirement = f"gpus{sign}{wanted}"
            diagnosis = about(machine(there) if there else bare(), matrix, requirement, allow_cpu=True)
            unmet = [finding for finding in diagnosis.findings if requirement in finding.message]
            assert (unmet == []) is COMPARISONS[sign](there, wanted), requirement
            assert all(finding.severity is Severity.ERROR for finding in unmet)

    def test_gpus_that_are_set_aside_count_as_none(self, matrix: Matrix) -> None:
        snapshot = bare(pci=Pci((card(0, driver="vfio-pci"), card(1, driver="vfio-pci"))))
        assert not [one for one in about(snapshot, matrix, "gpus==0", level=None).findings if "gpus==0" in one.message]
        (finding,) = [one for one in about(snapshot, matrix, "gpus>=1", level=None).findings if "gpus>=1" in one.message]
        assert finding.message == "gpus>=1 is required, but no GPU can be used."

    def test_a_gpu_counts_at_the_rung_that_the_level_asks_for(self, matrix: Matrix) -> None:
        trained = machine(2, smoke=(smoke(2),))
        assert not about(trained, matrix, "gpus==2", level=Level.TRAIN).findings
        assert about(machine(2, smoke=(smoke(1),)), matrix, "gpus==2", level=Level.TRAIN).verdict is not Verdict.READY

    def test_what_any_answer_would_meet_is_met(self, matrix: Matrix) -> None:
        diagnosis = about(machine(2, libcuda=TIMED_OUT), matrix, "gpus<=2", level=None)
        assert diagnosis.verdict is Verdict.READY

    def test_what_no_answer_would_meet_is_not_met(self, matrix: Matrix) -> None:
        assert "requirement-not-met" in names(about(machine(2, libcuda=TIMED_OUT), matrix, "gpus>=3", level=None))


def test_with_mig_the_memory_is_what_a_program_gets(matrix: Matrix) -> None:
    split = cards({"memory_total": 80 * GIB, "mig_enabled": True}, cuda={"memory_total": 10 * GIB})
    assert names(about(split, matrix, "memory>=40GiB")) == ["requirement-not-met"]


def test_nothing_required_is_not_a_pass(matrix: Matrix) -> None:
    assert not {"requirement-not-met", "required-gpus-missing"} & {outcome.name for outcome in about(machine(), matrix).outcomes}


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("fit=resnet50,bf16,batch=64", ""),
        ("fit=llama-8b,bf16", "30.0 GiB free of "),
        ("fit=resnet50,fp8", "too old for FP8"),
    ],
)
def test_a_run_that_is_required_fits_into_the_free_memory_in_a_precision_of_the_gpu(wanted: str, says: str, matrix: Matrix) -> None:
    found = about(cards({"memory_free": 30 * GIB, "compute_capability": "8.0"}), matrix, wanted).findings
    assert [finding.name for finding in found] == (["requirement-not-met"] if says else [])
    assert all(says in finding.message for finding in found)
    assert about(cards({"memory_free": 30 * GIB}), matrix, "fit=resnet50").verdict is Verdict.READY
