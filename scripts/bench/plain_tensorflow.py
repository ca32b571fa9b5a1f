"""The work of the smoke training as a plain TensorFlow script, on the CPU, with which scripts/bench/overhead compares the child's CPU time."""

import functools
from typing import Any

import tensorflow as tf

from scripts.bench import plain

TRAINING, TEST = plain.images(4096, 0), plain.images(2000, 1)


@functools.lru_cache
def trainer(network: str) -> tuple[Any, list[tuple[Any, Any]], Any]:
    """Return a network with its initial weights, the initial values of all variables, and its step, which is traced once."""
    layers = tf.keras.layers
    if network == "dense":
        parts = [layers.Flatten(), layers.Dense(128, activation="tanh"), layers.Dense(10)]
    else:
        filters = layers.Conv2D(32, 5, strides=2, activation="tanh"), layers.Conv2D(64, 3, strides=2, activation="tanh")
        parts = [layers.Reshape((28, 28, 1)), *filters, layers.Flatten(), layers.Dense(10)]
    model = tf.keras.Sequential([tf.keras.Input((28, 28)), *parts])
    optimizer = tf.keras.optimizers.Adam(1e-3, 0.9, 0.9, epsilon=1e-3)
    optimizer.build(model.trainable_variables)
    model.set_weights(plain.weights(network))
    beginning = [(variable, variable.numpy()) for variable in (*model.variables, *optimizer.variables)]
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def once(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return model, beginning, tf.function(once)


def train(network: str, steps: int, size: int) -> tuple[list[float], list[Any], float]:
    """See plain.run."""
    model, beginning, step = trainer(network)
    for variable, value in beginning:
        variable.assign(value)
    losses = plain.blocks((step(*map(tf.constant, batch)) for batch in plain.batches(*TRAINING, steps)), size)
    accuracy = float((model(tf.constant(TEST[0])).numpy().argmax(axis=1) == TEST[1]).mean()) if size == 10 else 0.0
    return losses, model.get_weights(), accuracy


def multiply(left: Any, right: Any) -> Any:
    """Return the matmul."""
    return tf.matmul(left, right).numpy()


if __name__ == "__main__":
    plain.run(tf.__version__, multiply, train)
