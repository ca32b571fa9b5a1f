from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.derive.framework_log import relevant_lines

NEW = "E0000 00:00:1795235664.918000   31245 cuda_executor.cc:1737] INTERNAL: CUDA Runtime error"
OLD = "2025-01-31 10:00:00.123456: W tensorflow/core/common_runtime/gpu/gpu_device.cc:2251] Cannot dlopen some GPU libraries."


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (NEW, ("INTERNAL: CUDA Runtime error",)),
        (OLD, ("Cannot dlopen some GPU libraries.",)),
        (f"{OLD}\n{NEW}\n{NEW}", ("INTERNAL: CUDA Runtime error", "Cannot dlopen some GPU libraries.")),
        ("I0000 00:00:1.1   1 port.cc:153] oneDNN custom operations are on.\nMemoryError: too much", ("MemoryError: too much",)),
        ("", ()),
    ],
    ids=["new form", "old form", "worst first and once", "unmarked", "empty"],
)
def test_the_relevant_lines(output: str, expected: tuple[str, ...]) -> None:
    assert relevant_lines(output) == expected


@given(st.text())
def test_any_output_gives_at_most_three_short_lines(output: str) -> None:
    told = relevant_lines(output)
    assert len(told) <= 3
    assert all(line and len(line) <= 300 for line in told)
