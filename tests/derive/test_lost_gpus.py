"""What gives away a GPU that answers nothing but ones."""

from __future__ import annotations

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.derive.lost_gpus import registers_of_ones
from gpudoctor.findings import Policy
from gpudoctor.matrix_files import open_matrix
from tests.diagnose.rules.asking import with_gpus


@pytest.mark.parametrize("width", range(64))
def test_a_link_has_a_width_of_the_specification_or_the_gpu_is_lost(width: int) -> None:
    """0 is the width of a link that is down."""
    (gpu,) = MachineView(with_gpus({"link_width": width, "link_width_max": 16}), open_matrix(), Policy()).gpus
    valid = width == 12 or width.bit_count() <= 1
    assert bool(list(registers_of_ones(gpu.observed))) is not valid
