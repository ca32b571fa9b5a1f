"""The training problem: its statistics, and the derivation of its tolerances with NumPy instead of a framework."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

Array = Any
Product = Callable[[Array, Array], Array]

ULP = 2.0**-23


def ten_steps(
    task: ModuleType, network: Any, dtype: Any, *, product: Product = np.matmul, tanh_ulps: int = 0, pow_ulps: int = 0
) -> tuple[list[float], list[Array]]:
    """The compared steps without a framework: layers, tanh, cross-entropy, Adam with its bias correction in `dtype`."""
    weights = [each.astype(dtype) for each in task.initial_weights(np, network)]
    first, second = [np.zeros_like(each) for each in weights], [np.zeros_like(each) for each in weights]
    tanh = lambda values: np.tanh(values) * dtype(1 + tanh_ulps * ULP)  # noqa: E731
    losses = []
    for step, (images, labels) in enumerate(task.batches(np, task.COMPARED_STEPS), 1):
        outputs, back = forward(task, weights, images.astype(dtype), product, tanh)
        outputs = outputs - outputs.max(axis=1, keepdims=True)
        likelihood = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
        chosen = np.arange(task.BATCH), labels
        losses.append(float(-np.log(likelihood[chosen]).mean()))
        likelihood[chosen] -= 1
        gradients = back(likelihood / dtype(task.BATCH))
        decays = [dtype(each) for each in task.DECAYS]
        powers = [decays[0] ** dtype(step) * dtype(1 + pow_ulps * ULP), decays[1] ** dtype(step) * dtype(1 - pow_ulps * ULP)]
        rate = dtype(task.LEARNING_RATE) * np.sqrt(1 - powers[1]) / (1 - powers[0])
        for index, gradient in enumerate(gradients):
            first[index] += (gradient - first[index]) * (1 - decays[0])
            second[index] += (gradient * gradient - second[index]) * (1 - decays[1])
            weights[index] = weights[index] - rate * first[index] / (np.sqrt(second[index]) + dtype(task.EPSILON))
    return losses, weights


def forward(
    task: ModuleType, weights: list[Array], images: Array, product: Product, tanh: Callable[[Array], Array]
) -> tuple[Array, Callable[[Array], list[Array]]]:
    """The outputs of the layers, and the function from the outputs' gradients to those of all weights."""
    held = images[..., np.newaxis]
    layers = []
    for kernel, bias in zip(weights[::2], weights[1::2], strict=True):
        shape = held.shape
        rows = patches(held, kernel.shape[0], task.STRIDE) if kernel.ndim == 4 else held.reshape(len(held), -1)
        flat = kernel.reshape(-1, kernel.shape[-1])
        outputs = product(rows.reshape(-1, len(flat)), flat) + bias
        held = tanh(outputs).reshape(*rows.shape[:-1], -1)
        layers.append((shape, kernel, rows, held))

    def back(slope: Array) -> list[Array]:
        gradients: list[Array] = []
        for number, (shape, kernel, rows, values) in reversed(list(enumerate(layers))):
            inner = slope if number == len(layers) - 1 else slope.reshape(values.shape) * (1 - values * values)
            inner = inner.reshape(-1, kernel.shape[-1])
            flat = kernel.reshape(-1, kernel.shape[-1])
            gradients[:0] = [product(rows.reshape(-1, len(flat)).T, inner).reshape(kernel.shape), inner.sum(axis=0)]
            if number:
                slope = product(inner, flat.T).reshape(rows.shape)
                slope = unpatch(slope, shape, kernel.shape[0], task.STRIDE) if kernel.ndim == 4 else slope.reshape(shape)
        return gradients

    return outputs, back


def patches(held: Array, side: int, stride: int) -> Array:
    """The inputs of each place of a convolution without padding: (images, rows, columns, side x side x channels)."""
    windows = np.lib.stride_tricks.sliding_window_view(held, (side, side), axis=(1, 2))[:, ::stride, ::stride]
    seen = windows.transpose(0, 1, 2, 4, 5, 3)
    return np.ascontiguousarray(seen).reshape(*seen.shape[:3], -1)


def unpatch(slope: Array, shape: tuple[int, ...], side: int, stride: int) -> Array:
    """The reverse of patches: each pixel's sum over the places that see it."""
    total = np.zeros(shape, slope.dtype)
    rows, columns = slope.shape[1:3]
    parts = slope.reshape(*slope.shape[:3], side, side, -1)
    for row in range(side):
        for column in range(side):
            total[:, row : row + stride * rows : stride, column : column + stride * columns : stride] += parts[:, :, :, row, column]
    return total


def reordered(seed: int) -> Product:
    random = np.random.RandomState(seed)

    def product(left: Array, right: Array) -> Array:
        order = random.permutation(left.shape[1])
        return np.matmul(left[:, order], right[order])

    return product


def one_after_the_other(left: Array, right: Array) -> Array:
    total = np.zeros((left.shape[0], right.shape[1]), left.dtype)
    for term in range(left.shape[1]):
        total += left[:, term : term + 1] * right[term : term + 1]
    return total


def tf32(values: Array) -> Array:
    """float32 rounded to TF32's ten bits of fraction."""
    return ((np.ascontiguousarray(values).view(np.uint32) + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)


def tf32_product(left: Array, right: Array) -> Array:
    return np.matmul(tf32(left), tf32(right))


def wrong_row(left: Array, right: Array) -> Array:
    result = np.matmul(left, right)
    result[3] *= 1.01
    return result


DISTANCES = {
    "dense": {
        "order": (7.0e-7, 6.0e-8),
        "tanh": (1.5e-6, 7.0e-8),
        "pow": (4.9e-6, 9.9e-8),
        "tf32": (4.0e-5, 1.0e-5),
        "row": (1.0e-4, 2.5e-5),
    },
    "convolutional": {
        "order": (3.0e-7, 5.0e-8),
        "tanh": (1.0e-6, 3.5e-8),
        "pow": (3.0e-6, 1.3e-7),
        "tf32": (2.4e-5, 1.2e-5),
        "row": (7.0e-5, 1.8e-5),
    },
}
"""The table of task.py: loss, weights."""


@pytest.fixture(scope="module", params=["dense", "convolutional"])
def network(task: ModuleType, request: pytest.FixtureRequest) -> Any:
    return next(network for network in task.NETWORKS if network.name == request.param)


@pytest.fixture(scope="module")
def distance(task: ModuleType, network: Any) -> Callable[..., tuple[float, float]]:
    """How far float32 variants of the ten steps are from float64, or from plain float32: losses, weights."""
    exact = functools.lru_cache(lambda dtype: ten_steps(task, network, dtype))

    def measure(reference: Any = np.float64, **variant: Any) -> tuple[float, float]:
        variants, references = ten_steps(task, network, np.float32, **variant), exact(reference)
        return task.largest_difference(np, variants[0], references[0]), task.largest_difference(np, variants[1], references[1])

    return measure


@pytest.mark.parametrize(
    ("variant", "kind"),
    [
        ({"product": np.matmul}, "order"),
        ({"product": one_after_the_other}, "order"),
        *(({"product": reordered(seed)}, "order") for seed in range(4)),
        ({"tanh_ulps": 8, "reference": np.float32}, "tanh"),
        ({"pow_ulps": 10, "reference": np.float32}, "pow"),
        ({"pow_ulps": -10, "reference": np.float32}, "pow"),
    ],
)
def test_correct_float32_stays_well_within_the_tolerances(
    task: ModuleType, network: Any, distance: Callable[..., tuple[float, float]], variant: dict[str, Any], kind: str
) -> None:
    measured, (loss, weights) = distance(**variant), DISTANCES[network.name][kind]
    assert measured[0] <= loss <= task.LOSS_TOLERANCE / 2
    assert measured[1] <= weights < task.WEIGHT_TOLERANCE / 5


@pytest.mark.parametrize(("wrong", "kind"), [(tf32_product, "tf32"), (wrong_row, "row")])
def test_less_than_float32_is_well_outside_the_tolerances(
    task: ModuleType, network: Any, distance: Callable[..., tuple[float, float]], wrong: Product, kind: str
) -> None:
    measured, (loss, weights) = distance(product=wrong), DISTANCES[network.name][kind]
    assert measured[0] >= loss > task.LOSS_TOLERANCE * 2
    assert measured[1] >= weights > task.WEIGHT_TOLERANCE * 3


@pytest.mark.parametrize("product", [np.matmul, one_after_the_other, reordered(5)])
def test_the_matmul_bound_holds_for_float32_in_any_order(task: ModuleType, product: Product) -> None:
    left, right = task.factors(np)
    error, tolerance = task.product_error(np, left, right, product(left, right))
    assert 0 < error < tolerance


@pytest.mark.parametrize(("product", "times"), [(wrong_row, 10), (tf32_product, 3)])
def test_wrong_matmuls_exceed_the_bound(task: ModuleType, product: Product, times: int) -> None:
    left, right = task.factors(np)
    error, tolerance = task.product_error(np, left, right, product(left, right))
    assert error > times * tolerance


def test_a_matmul_with_nan_never_passes(task: ModuleType) -> None:
    left, right = task.factors(np)
    broken = np.matmul(left, right)
    broken[7, 9] = np.nan
    assert math.isnan(task.product_error(np, left, right, broken)[0])
    assert math.isnan(task.largest_difference(np, [0.0, math.nan, 0.0], [0.0, 0.0, 0.0]))


def test_the_expected_accuracy_is_the_best_classifiers(task: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best classifier compares the brightness of the ten rectangles; lower contrast makes its errors countable."""
    assert 0.99998 < task.expected_accuracy() < 1
    monkeypatch.setattr(task, "CONTRAST", 0.4)
    pixels, labels = task.images(np, 20_000, seed=11)
    rectangles = pixels[:, :, 1:26].reshape(-1, 2, task.PATCH_ROWS, 5, task.PATCH_COLUMNS)
    measured = (rectangles.sum(axis=(2, 4)).reshape(-1, task.CLASSES).argmax(axis=1) == labels).mean()
    expected = task.expected_accuracy()
    assert 0.9 < expected < 0.97
    assert abs(measured - expected) < 4 * math.sqrt(expected * (1 - expected) / len(labels))


def test_the_images_are_the_same_everywhere(task: ModuleType) -> None:
    pixels, labels = task.training_images(np)
    assert (pixels.shape, pixels.dtype, labels.dtype) == ((4096, 28, 28), np.float32, np.int32)
    assert labels[:8].tolist() == [2, 1, 7, 3, 8, 5, 1, 9]
    assert float(pixels[0, 0, 0]) == pytest.approx(0.9536322951316833, rel=1e-6)
    assert np.abs(np.bincount(labels) - 409.6).max() < 1
    assert not np.array_equal(pixels[:2000], task.test_images(np)[0])
