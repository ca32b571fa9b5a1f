"""A plain JAX training loop as a user would write it; gpu_acceptance compares the smoke training's figures with it.

    PYTHON scripts/acceptance/loop_jax.py gpu|cpu BATCH

Prints images per second of the small convolutional network, with its data on the device.
"""

import statistics
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

ROUNDS, SECONDS = 5, {"cpu": 0.05, "gpu": 0.4}
UNSEEN = {"cpu": 4, "gpu": 100}
"""Steps between two looks at the loss, each of which waits for the device."""
SHAPES = ((5, 5, 1, 32), (3, 3, 32, 64), (1600, 10))


def forward(weights: Any, images: Any) -> Any:
    """Return the logits."""
    (first, first_bias), (second, second_bias), (last, last_bias) = weights
    layout = ("NHWC", "HWIO", "NHWC")
    hidden = jnp.tanh(jax.lax.conv_general_dilated(images, first, (2, 2), "VALID", dimension_numbers=layout) + first_bias)
    hidden = jnp.tanh(jax.lax.conv_general_dilated(hidden, second, (2, 2), "VALID", dimension_numbers=layout) + second_bias)
    return hidden.reshape(hidden.shape[0], -1) @ last + last_bias


def loss_of(weights: Any, images: Any, labels: Any) -> Any:
    """Return the mean cross entropy."""
    logs = jax.nn.log_softmax(forward(weights, images))
    return -jnp.take_along_axis(logs, labels[:, None], axis=1).mean()


def once(state: Any, count: float, images: Any, labels: Any) -> Any:
    """Return the loss, and weights and moments after one step of Adam."""
    weights, means, squares = state
    loss, gradients = jax.value_and_grad(loss_of)(weights, images, labels)
    tree = jax.tree_util.tree_map
    means = tree(lambda mean, gradient: 0.9 * mean + 0.1 * gradient, means, gradients)
    squares = tree(lambda square, gradient: 0.999 * square + 0.001 * gradient**2, squares, gradients)
    rate = 1e-3 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    weights = tree(lambda weight, mean, square: weight - rate * mean / (jnp.sqrt(square) + 1e-8), weights, means, squares)
    return loss, (weights, means, squares)


step = jax.jit(once)


def main(device: str, batch: int) -> None:
    """Train, and print the median speed of the rounds."""
    random, there = np.random.default_rng(0), jax.devices(device)[0]
    start = [(random.normal(0, 0.05, shape).astype(np.float32), np.zeros(shape[-1], np.float32)) for shape in SHAPES]
    zeros = [(np.zeros_like(kernel), np.zeros_like(bias)) for kernel, bias in start]
    state = jax.device_put((start, zeros, zeros), there)
    images = jax.device_put(random.normal(size=(batch, 28, 28, 1)).astype(np.float32), there)
    labels = jax.device_put(random.integers(0, 10, batch).astype(np.int32), there)
    count = 0.0
    for _ in range(5):
        count += 1
        loss, state = step(state, count, images, labels)
    float(loss)
    speeds = []
    for _ in range(ROUNDS):
        done, began = 0, time.perf_counter()
        while time.perf_counter() - began < SECONDS[device]:
            for _ in range(UNSEEN[device]):
                count += 1
                loss, state = step(state, count, images, labels)
            float(loss)
            done += UNSEEN[device]
        speeds.append(done * batch / (time.perf_counter() - began))
    print(statistics.median(speeds))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
