"""gpustat's lines, one a GPU."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from tests.read.seeing import facts, gpus

MIB = 1 << 20
LINES = (
    "[3] NVIDIA RTX A4000  | 58'C,  97 % | 15021 / 16376 MB | eve(15002M)",
    "[3] NVIDIA RTX A4000          | 58\u00b0C,  97 %,  139 / 140 W | 15021 / 16376 MB | eve:python/77101(15002M) gdm(4M)",
    "[3] NVIDIA RTX A4000 | 58'C, 30 %,  97 % | 15021 / 16376 MB |",
)


@pytest.mark.parametrize("line", LINES)
def test_a_line_states_the_model_and_the_memory_of_a_gpu(line: str, matrix: Matrix) -> None:
    (gpu,) = gpus(f"node4  Mon Jun  2 09:00:00 2025  550.54\n{line}\nRuntimeError: CUDA error: out of memory\n", matrix)
    assert facts(gpu).items() >= {("index", 3), ("name", "NVIDIA RTX A4000"), ("memory_used", 15021 * MIB), ("memory_total", 16376 * MIB)}


def test_a_list_with_bars_is_no_gpu(matrix: Matrix) -> None:
    (unknown,) = gpus("[1] Download | 12 | 12 / 300 MB | 4%\nRuntimeError: CUDA error: out of memory\n", matrix)
    assert "name" not in facts(unknown)
