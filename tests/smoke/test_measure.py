"""What level full also measures, for real on the CPU; and that wrong results exceed the matmul tolerances."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.smoke.child import Run, healthy_run, load
from tests.smoke.patches import WRONG_ROW

Start = Callable[..., Run]
STAGES = ["copies", "memory", "products", "compiled step"]


@pytest.fixture(
    scope="module", params=["tensorflow", pytest.param("torch", marks=pytest.mark.index), pytest.param("jax", marks=pytest.mark.index)]
)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    interpreter = None
    if request.param != "tensorflow":
        environment: Callable[[str], Path] = request.getfixturevalue("framework_python")
        interpreter = environment(request.param)
    return healthy_run(tmp_path_factory, request.param, interpreter)[0]


def test_its_stages_follow_training(measured: Run) -> None:
    ended = [each["stage"] for each in measured.all("end")]
    assert ended[-4:] == STAGES
    assert measured.status == 0


def test_copies_and_memory_have_a_rate(measured: Run) -> None:
    assert [(each["direction"], each["pinned"]) for each in measured.all("copy")] == [("to", False), ("from", False)]
    assert all(1e7 < each["bytes_per_second"] < 1e13 for each in (*measured.all("copy"), measured.one("memory")))


def test_matmuls_are_right_and_float32_is_exact(measured: Run) -> None:
    products = {each["precision"]: each for each in measured.all("product")}
    assert set(products) == {"fp32", "bf16"}
    assert products["fp32"]["error"] == 0
    assert 0 < products["bf16"]["error"] < products["bf16"]["tolerance"] < 0.01
    assert all(each["flops"] > 1e8 for each in products.values())


def test_a_compiled_step_agrees(measured: Run) -> None:
    compiled = measured.one("compiled")
    assert compiled["loss_difference"] <= compiled["loss_tolerance"]
    assert 0 < compiled["step_seconds"] < compiled["seconds"]
    assert compiled["compiler"] in {"XLA", "torch.compile"}


def test_a_wrong_row_exceeds_the_tolerance(smoke: Start, imported_tensorflow: Path) -> None:
    patch = WRONG_ROW.replace("one_hot(3,", "one_hot(0,")
    run = smoke("--devices", "cpu", "--short", "0", "--measure", patch=patch, interpreter=imported_tensorflow)
    (product,) = run.all("product")
    assert product["precision"] == "fp32"  # of the others one is wrong in test_wrong_results.py
    assert product["error"] > product["tolerance"]


@pytest.mark.parametrize(("precision", "fraction"), [("bf16", 8), ("fp16", 11)])
def test_the_tolerance_is_between_rounding_and_a_wrong_row(precision: str, fraction: int) -> None:
    """float32 sums whose eight parts were rounded on the way, and rows that are wrong by 1 %."""
    measure = load("measure")
    left, right, numbers, exact = factors(measure, 512)
    parts = [left[numbers][:, part::8] @ right[part::8] for part in range(8)]
    total = np.zeros_like(parts[0])
    for part in parts:
        total = rounded(total + rounded(part, fraction), fraction)
    tolerance = 2 * measure.PRECISIONS[precision] + 512 * 2.0**-24
    assert 0 < relative(total, exact) < tolerance < relative(exact * 1.01, exact)


def test_float32_holds_every_sum_exactly() -> None:
    measure = load("measure")
    left, right, numbers, exact = factors(measure, 2048)
    assert relative((left @ right)[numbers], exact) == 0
    assert set(np.unique(left * 64)) == set(range(-64, 65))


def factors(measure: ModuleType, size: int) -> tuple[Any, Any, Any, Any]:
    class Stages:
        engine = task = answers = None
        np: Any

    Stages.np = np
    found: tuple[Any, Any, Any, Any] = measure.Measures(Stages, None).factors(size)
    return found


def rounded(values: Any, bits: int) -> Any:
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**bits) / 2.0**bits, exponent)


def relative(rows: Any, exact: Any) -> float:
    return float((np.linalg.norm(rows - exact, axis=1) / np.linalg.norm(exact, axis=1)).max())
