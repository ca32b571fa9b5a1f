"""What gives away a GPU that answers nothing but ones."""

from __future__ import annotations

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.derive.lost_gpus import all_ones_evidence, is_forbidden, unresponsive_evidence
from gpudoctor.findings import Policy
from gpudoctor.snapshot.driver import Refusals
from gpudoctor.status_codes import NvmlError
from tests.diagnose.rules.asking import with_gpus
from tests.shipped import shared_matrix


@pytest.mark.parametrize("width", range(64))
def test_a_link_has_a_width_of_the_specification_or_the_gpu_is_lost(width: int) -> None:
    """0 is the width of a link that is down."""
    (gpu,) = MachineView(with_gpus({"link_width": width, "link_width_max": 16}), shared_matrix(), Policy()).gpus
    valid = width == 12 or width.bit_count() <= 1
    assert bool(list(all_ones_evidence(gpu.observed))) is not valid


@pytest.mark.parametrize("code", [NvmlError.UNINITIALIZED, NvmlError.NO_PERMISSION, NvmlError.NOT_READY])
@pytest.mark.parametrize("times", [1, 5, 6, 9])
def test_queries_that_the_user_may_not_make_say_nothing_about_the_gpu(code: NvmlError, times: int) -> None:
    (gpu,) = MachineView(with_gpus({"refusals": Refusals(asked=10, code=code, times=times)}), shared_matrix(), Policy()).gpus
    denied = code is NvmlError.NO_PERMISSION
    assert is_forbidden(gpu.observed) is (denied and times > 5)
    assert bool(unresponsive_evidence(gpu.observed)) is (not denied and times > 5)
