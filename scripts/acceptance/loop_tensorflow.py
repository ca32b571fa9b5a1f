"""A plain TensorFlow training loop as a user would write it; gpu_acceptance compares the smoke training's figures with it.

    PYTHON scripts/acceptance/loop_tensorflow.py gpu|cpu BATCH

Prints images per second of the small convolutional network, with its data on the device.
"""

import statistics
import sys
import time
from typing import Any

import tensorflow as tf

ROUNDS, SECONDS = 5, {"cpu": 0.05, "gpu": 0.4}
UNSEEN = {"cpu": 4, "gpu": 100}
"""Steps between two looks at the loss, each of which waits for the device."""


def main(device: str, batch: int) -> None:
    """Train, and print the median speed of the rounds."""
    with tf.device(f"/device:{device.upper()}:0"):
        model = tf.keras.Sequential(
            [
                tf.keras.Input(shape=(28, 28, 1)),
                tf.keras.layers.Conv2D(32, 5, strides=2, activation="tanh"),
                tf.keras.layers.Conv2D(64, 3, strides=2, activation="tanh"),
                tf.keras.layers.Flatten(),
                tf.keras.layers.Dense(10),
            ]
        )
        optimizer = tf.keras.optimizers.Adam(1e-3)
        loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        images = tf.random.normal((batch, 28, 28, 1))
        labels = tf.random.uniform((batch,), 0, 10, tf.int32)
        speeds = measured(model, optimizer, loss_of, (images, labels), device)
    print(statistics.median(speeds))


def measured(model: Any, optimizer: Any, loss_of: Any, data: tuple[Any, Any], device: str) -> list[float]:
    """Return the images per second of each round."""
    images, labels = data

    def once() -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    step = tf.function(once)
    for _ in range(5):
        float(step())
    speeds = []
    for _ in range(ROUNDS):
        count, began = 0, time.perf_counter()
        while time.perf_counter() - began < SECONDS[device]:
            for _ in range(UNSEEN[device]):
                loss = step()
            float(loss)
            count += UNSEEN[device]
        speeds.append(count * len(labels) / (time.perf_counter() - began))
    return speeds


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
