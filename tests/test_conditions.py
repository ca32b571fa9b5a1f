from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.conditions import is_condition_met, parse_condition
from gpudoctor.errors import UsageError

GIB = 1 << 30


@pytest.mark.parametrize(
    ("text", "value", "fit"),
    [
        ("driver>=550", "550.54.15", True),
        ("driver>=550", "470.57.02", False),
        ("driver>=550.54.15,<560", "560.28.03", False),
        ("driver == 550.*", "550.163.01", True),
        ("gpus==8", "8", True),
        ("gpus==8", "7", False),
        ("gpus>=2,!=3", "3", False),
        ("cc>=8.0", "7.5", False),
        ("cc>=8.0", "10.0", True),
        ("bf16", "8.0", True),
        ("BF16", "7.5", False),
        ("memory>=80GiB", str(80 * GIB), True),
        ("memory>=80GiB", str(81559 << 20), False),
        ("memory>=80GB", str(81559 << 20), True),
        ("memory > 0.5 GiB, < 1TB", str(GIB), True),
        ("memory<=16000MB", str(16 * 10**9), True),
        ("torch>=2.4", "2.6.0+cu124", True),
        ("torch>=2.4", "2.4.0a0+git1234", False),
        ("torch>=2.4", "2.7.0.dev20250301", True),
        ("Torch ~= 2.4", "2.9.1", True),
        ("tensorflow", "2.18.0", True),
    ],
)
def test_values_that_meet_a_condition(text: str, value: str, fit: bool) -> None:
    assert is_condition_met(parse_condition(text), value) is fit


def test_an_invalid_version_cannot_be_compared() -> None:
    assert is_condition_met(parse_condition("torch>=2"), "built from source") is None


@pytest.mark.parametrize(
    "text",
    [
        *("", ">=5", "driver", "gpus", "memory", "cc", "gpus=8", "gpus===8", "driver>=", "driver>=new", "torch[cuda]>=2", "cuda>=12"),
        *(
            "bf16>=8",
            "fp8",
            "numpy>=2",
            "memory>=80",
            "memory>=80XB",
            "memory>=-1GB",
            "memory==*GB",
            "memory>=80GB,",
            "torch 2.4",
            "torch>=2;os_name>'3'",
        ),
    ],
)
def test_an_invalid_requirement_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_condition(text)
    said = str(caught.value)
    assert said.startswith(f"--require {text!r}")
    assert said.endswith(".")
    assert "\n" not in said


@given(st.text(max_size=30))
def test_garbage_is_refused(text: str) -> None:
    try:
        parse_condition(text)
    except UsageError:
        return


@given(st.sampled_from(["driver", "gpus", "cc", "memory", "torch"]), st.text(alphabet="<>=!~0123456789.*GBi, ", max_size=12))
def test_parsed_conditions_can_be_compared(subject: str, specifier: str) -> None:
    try:
        requirement = parse_condition(subject + specifier)
    except UsageError:
        return
    assert is_condition_met(requirement, "12.4") in {True, False}
