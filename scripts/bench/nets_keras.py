"""Builds the networks of scripts/bench/fit in Keras and measures a training step of each on the CPU; see nets_torch.py."""

import ctypes
import gc
import json
import os
import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def ran(rows, x):
    """The symbolic output of rows."""
    for row in rows:
        if row["kind"] != "loss":
            x = LAYERS[row["kind"]](row, x)
    return x


def conv(row, x):
    x = layers.ZeroPadding2D(row["padding"])(x) if row["padding"] else x
    return layers.Conv2D(row["out"], row["kernel"], row["stride"])(x)


class Places(layers.Layer):
    """A learned vector added to each token by its place."""

    def build(self, shape):
        self.places = self.add_weight(shape=shape[1:])

    def call(self, x):
        return x + self.places


def embedding(row, x):
    return Places()(layers.Embedding(row["entries"], row["width"])(x))


def attention(row, x):
    return layers.MultiHeadAttention(row["heads"], x.shape[-1] // row["heads"])(x, x)


LAYERS = {
    "linear": lambda row, x: layers.Dense(row["out"])(x),
    "conv": conv,
    "norm": lambda row, x: (layers.BatchNormalization() if row["of"] == "batch" else layers.LayerNormalization())(x),
    "function": lambda row, x: layers.Activation(row["name"])(x),
    "pool": lambda row, x: layers.MaxPooling2D(row["kernel"], row["stride"])(x),
    "poolto": lambda row, x: layers.GlobalAveragePooling2D()(x),
    "flatten": lambda row, x: layers.Flatten()(x),
    "embedding": embedding,
    "attention": attention,
    "residual": lambda row, x: x + ran(row["body"], x),
    "block": lambda row, x: ran(row["body"], x),
}


def network(case):
    """The model of a case; images have their channels last."""
    image = len(case["shape"]) == 3
    shape = (*case["shape"][1:], case["shape"][0]) if image else tuple(case["shape"])
    inputs = keras.Input(shape, dtype="float32" if image else "int32")
    return keras.Model(inputs, ran(case["rows"], inputs))


def build():
    """The builder that gpudoctor traces."""
    with open(os.environ["FIT_CASE"], encoding="utf-8") as file:
        return network(json.load(file))


def stepping(model, seen):
    """A compiled training step that notes what is allocated when the loss is known and backward has not begun."""
    memory = ctypes.CDLL(None)
    memory.allocations_held.restype = ctypes.c_long

    def note(_loss):
        seen.append(memory.allocations_held())
        return np.float32(1)

    @tf.function
    def step(inputs, labels):
        with tf.GradientTape() as tape:
            losses = keras.losses.sparse_categorical_crossentropy(labels, model(inputs, training=True), from_logits=True)
            loss = tf.reduce_mean(losses)
        first = tf.ensure_shape(tf.numpy_function(note, [loss], tf.float32), ())
        return tape.gradient(loss, model.trainable_variables, output_gradients=first)

    return step, memory.allocations_held


def truth(case):
    """What a compiled step holds before backward for each batch, with the batch itself where the first layer reads numbers."""
    model, steps, seen = network(case), [], []
    step, held = stepping(model, seen)
    for batch in case["batches"]:
        inputs = tf.zeros((batch, *model.inputs[0].shape[1:]), model.inputs[0].dtype)
        labels = tf.zeros((batch, *model.outputs[0].shape[1:-1]), tf.int32)
        step(inputs, labels)
        gc.collect()
        before = held()
        step(inputs, labels)
        own = len(case["shape"]) == 3 and inputs.dtype.size * int(tf.size(inputs))
        steps.append({"batch": batch, "kept": seen[-1] - before + own})
    return {"parameters": model.count_params(), "steps": steps}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(truth(json.loads(line))), flush=True)
