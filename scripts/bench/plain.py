"""Shared by the plain training scripts (plain_*.py), with NumPy alone: data, initial weights, and the first matmul.

Independent of gpudoctor. Images and weights are those of its smoke training, generated in the same order from the same seeds.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

BATCH = 128
STEPS = {"dense": 300, "convolutional": 60}
SHAPES = {"dense": ((784, 128), (128, 10)), "convolutional": ((5, 5, 1, 32), (3, 3, 32, 64), (1600, 10))}
SEEDS = {"dense": 2, "convolutional": 4}
Train = Callable[[str, int, int], tuple[list[float], list[Any], float]]


def images(count: int, seed: int) -> tuple[Any, Any]:
    """Return noise with a brighter rectangle in a place for each of ten classes, (count, 28, 28), and the classes."""
    random = np.random.RandomState(seed)
    labels = random.permutation(count) % 10
    pixels = random.standard_normal((count, 28, 28)).astype(np.float32)
    for label in range(10):
        row, column = 14 * (label // 5), 1 + 5 * (label % 5)
        pixels[labels == label, row : row + 14, column : column + 5] += np.float32(0.8)
    return pixels, labels.astype(np.int32)


def weights(network: str) -> list[Any]:
    """Return kernel and bias of each layer, Glorot's uniform distribution."""
    random = np.random.RandomState(SEEDS[network])
    result = []
    for shape in SHAPES[network]:
        limit = np.sqrt(6 / (np.prod(shape[:-2]) * (shape[-2] + shape[-1])))
        result += [random.uniform(-limit, limit, shape).astype(np.float32), np.zeros(shape[-1], np.float32)]
    return result


def batches(pixels: Any, labels: Any, steps: int) -> Any:
    """Yield this many batches of the images, starting over when they run out."""
    for step in range(steps):
        first = step * BATCH % len(pixels)
        yield pixels[first : first + BATCH], labels[first : first + BATCH]


def blocks(losses: Any, size: int) -> list[float]:
    """Return the mean of each `size` losses, read once that many are computed."""
    means, block = [], []
    for loss in losses:
        block.append(loss)
        if len(block) == size:
            means.append(float(np.mean([float(one) for one in block])))
            block = []
    return means


def run(version: str, multiply: Callable[[Any, Any], Any], train: Train) -> None:
    """Run the matmul, train both networks, run the first ten steps of each twice and compare; print the results.

    `train(network, steps, size)` returns the means of each `size` losses, the weights after so many steps and, if size is 10, the accuracy.
    """
    random = np.random.RandomState(3)
    left, right = (random.standard_normal((256, 256)).astype(np.float32) for _ in range(2))
    exact, scale = left.astype(float) @ right.astype(float), np.abs(left.astype(float)) @ np.abs(right.astype(float))
    error = float((np.abs(multiply(left, right) - exact) / scale).max())
    networks = {}
    for network, steps in STEPS.items():
        losses, _, accuracy = train(network, steps, 10)
        (ones, one, _), (others, other, _) = train(network, 10, 1), train(network, 10, 1)
        differences = [float(np.abs(np.subtract(a, b, dtype=float)).max()) for a, b in zip([ones, *one], [others, *other], strict=True)]
        networks[network] = {"losses": losses, "accuracy": accuracy, "difference": max(differences)}
    print(json.dumps({"version": version, "error": error, "networks": networks}))
