from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import AllReduce, Cause, Missing, NvLink, Nvml
from tests.diagnose.rules.multi_gpu.reductions import BROKEN_IMPORT, HUNG_WITHOUT, checked, summed
from tests.machines.summed import HUNG, RIGHT, RIGHT_WITHOUT, STOPPED, WRONG


@pytest.mark.parametrize("first", [HUNG, WRONG], ids=["hangs", "wrong"])
def test_an_all_reduce_that_is_right_only_without_p2p_is_found(first: AllReduce, matrix: Matrix) -> None:
    found, _ = checked(summed(first, RIGHT_WITHOUT), matrix)
    assert found["GD804"].confidence is Confidence.CERTAIN
    assert found["GD807"].because_of == ("GD804",)
    assert found["GD804"].fixes[0].command == "export NCCL_P2P_DISABLE=1"


def test_without_a_translating_iommu_it_is_likely(matrix: Matrix) -> None:
    found, _ = checked(summed(WRONG, RIGHT_WITHOUT, base="untouched-transfers"), matrix)
    assert found["GD804"].confidence is Confidence.LIKELY
    assert "off by 2.984375" in found["GD807"].message


def test_with_nvlinks_up_it_is_only_possible(matrix: Matrix) -> None:
    snapshot = summed(HUNG, RIGHT_WITHOUT)
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    links = (NvLink(0, active=True),)
    gpus = tuple(msgspec.structs.replace(gpu, nvlinks=links) for gpu in snapshot.nvml.gpus)
    found, _ = checked(msgspec.structs.replace(snapshot, nvml=msgspec.structs.replace(snapshot.nvml, gpus=gpus)), matrix)
    assert found["GD804"].confidence is Confidence.POSSIBLE
    assert found["GD807"].because_of == ()


def test_it_is_found_without_nvml(matrix: Matrix) -> None:
    found, _ = checked(summed(HUNG, RIGHT_WITHOUT, nvml=Missing(Cause.TIMED_OUT, "no answer")), matrix)
    assert "GD804" in found


def test_an_all_reduce_that_fails_either_way_is_not_blamed_on_p2p(matrix: Matrix) -> None:
    found, outcomes = checked(summed(HUNG, HUNG_WITHOUT, base="untouched-transfers"), matrix)
    assert list(found) == ["GD807"]
    assert outcomes["GD804"].kind is OutcomeKind.PASSED
    assert "With NCCL_P2P_DISABLE=1 it hung." in found["GD807"].message


@pytest.mark.parametrize(
    "controls", [(), (STOPPED,), (msgspec.structs.replace(BROKEN_IMPORT, p2p=False),)], ids=["none", "stopped", "no import"]
)
def test_an_undecided_control_run_is_reported(controls: tuple[AllReduce, ...], matrix: Matrix) -> None:
    found, outcomes = checked(summed(HUNG, *controls, base="untouched-transfers"), matrix)
    assert list(found) == ["GD807"]
    assert outcomes["GD804"].kind is OutcomeKind.COULD_NOT_TELL
    assert "the control without P2P did not complete" in outcomes["GD804"].reason


def test_a_correct_all_reduce_makes_it_a_note(matrix: Matrix) -> None:
    found, outcomes = checked(summed(RIGHT), matrix)
    assert [(one.code, one.severity.value) for one in found.values()] == [("GD804", "note")]
    assert outcomes["GD807"].kind is OutcomeKind.PASSED
    predicted, _ = checked(summed(RIGHT_WITHOUT), matrix)  # the user switched P2P off, so nothing is refuted
    assert predicted["GD804"].severity.value == "warning"
