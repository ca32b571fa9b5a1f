"""Which GPUs CUDA_VISIBLE_DEVICES names."""

from __future__ import annotations

import pytest

from gpudoctor.derive.visibility import Visibility, visibility_of_gpus
from gpudoctor.snapshot import Libcuda, Missing, Variables
from tests.builders import TIMED_OUT, libcuda, machine

NO_DEVICE = libcuda(0, 100, "CUDA_ERROR_NO_DEVICE")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("", ()),
        ("0", ("0",)),
        (" 1 , 0 ", ("1", "0")),
        ("-1", ()),
        ("2,-1,3", ("2",)),
        ("2,,3", ("2",)),
        ("GPU-8f6f,MIG-1", ("GPU-8f6f", "MIG-1")),
    ],
)
def test_what_a_value_names(value: str, named: tuple[str, ...]) -> None:
    """As the driver reads it: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#env-vars"""
    assert Visibility(value, 0, 0).entries == named


@pytest.mark.parametrize(
    ("masked", "unmasked", "expected"),
    [
        (libcuda(1), libcuda(4), Visibility("0", 1, 4)),
        (NO_DEVICE, libcuda(4), Visibility("0", 0, 4)),
        (NO_DEVICE, NO_DEVICE, Visibility("0", 0, 0)),
        (TIMED_OUT, libcuda(4), TIMED_OUT),
        (libcuda(1), TIMED_OUT, TIMED_OUT),
    ],
)
def test_devices_are_counted_with_and_without_the_variable(
    masked: Libcuda | Missing, unmasked: Libcuda | Missing, expected: Visibility | Missing
) -> None:
    variables = Variables({"CUDA_VISIBLE_DEVICES": "0"})
    assert visibility_of_gpus(machine(4, variables=variables, libcuda=masked, libcuda_unmasked=unmasked)) == expected


def test_a_variable_that_is_not_set_or_not_known_hides_nothing() -> None:
    assert visibility_of_gpus(machine(4, variables=Variables({}))) is None
    assert visibility_of_gpus(machine(4, variables=TIMED_OUT)) == TIMED_OUT
