"""The work of the smoke training as a plain JAX script, on the CPU, with which scripts/bench/overhead compares the child's CPU time."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scripts.bench import plain

TRAINING, TEST = plain.images(4096, 0), plain.images(2000, 1)
tree = jax.tree_util.tree_map


def outputs(weights: Any, images: Any) -> Any:
    """Return the logits; a four-dimensional kernel is a convolution's."""
    hidden = images[..., None]
    for number in range(0, len(weights), 2):
        kernel, bias = weights[number : number + 2]
        if number:
            hidden = jnp.tanh(hidden)
        if kernel.ndim == 4:
            hidden = jax.lax.conv_general_dilated(hidden, kernel, (2, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias
        else:
            hidden = hidden.reshape(len(hidden), -1) @ kernel + bias
    return hidden


def loss_of(weights: Any, images: Any, labels: Any) -> Any:
    """Return the mean cross entropy."""
    logs = jax.nn.log_softmax(outputs(weights, images))
    return -jnp.take_along_axis(logs, labels[:, None], axis=1).mean()


def once(state: Any, count: float, images: Any, labels: Any) -> Any:
    """Return the loss, and weights and moments after one step of Adam."""
    weights, means, squares = state
    loss, gradients = jax.value_and_grad(loss_of)(weights, images, labels)
    means = tree(lambda mean, gradient: 0.9 * mean + 0.1 * gradient, means, gradients)
    squares = tree(lambda square, gradient: 0.9 * square + 0.1 * gradient**2, squares, gradients)
    left = 1 - 0.9**count
    weights = tree(lambda weight, mean, square: weight - 1e-3 * mean / left / (jnp.sqrt(square / left) + 1e-3), weights, means, squares)
    return loss, (weights, means, squares)


forward, step = jax.jit(outputs), jax.jit(once)


def train(network: str, steps: int, size: int) -> tuple[list[float], list[Any], float]:
    """See plain.run."""
    start = plain.weights(network)
    zeros = [np.zeros_like(weight) for weight in start]
    state = jax.device_put((start, zeros, zeros))

    def all_steps() -> Any:
        nonlocal state
        for count, batch in enumerate(plain.batches(*TRAINING, steps), 1):
            loss, state = step(state, float(count), *batch)
            yield loss

    losses = plain.blocks(all_steps(), size)
    accuracy = float((forward(state[0], TEST[0]).argmax(axis=1) == TEST[1]).mean()) if size == 10 else 0.0
    return losses, jax.device_get(state[0]), accuracy


def multiply(left: Any, right: Any) -> Any:
    """Return the matmul."""
    return np.asarray(jnp.matmul(left, right))


if __name__ == "__main__":
    plain.run(jax.__version__, multiply, train)
