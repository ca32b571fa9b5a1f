"""Builds the networks of scripts/bench/fit in JAX and measures a training step of each on the CPU; see nets_torch.py."""

import ctypes
import functools
import gc
import json
import math
import os
import sys

import jax
import jax.numpy as jnp

FUNCTIONS = {"relu": jax.nn.relu, "tanh": jnp.tanh, "gelu": functools.partial(jax.nn.gelu, approximate=False), "silu": jax.nn.silu}
AXES = ("NCHW", "OIHW", "NCHW")


def started(rows, shape):
    """The parameters of rows, a list for each, and the shape of their output for one sample."""
    parameters = []
    for row in rows:
        kind, made = row["kind"], {}
        if kind == "linear":
            made, shape = {"w": jnp.full((shape[-1], row["out"]), 0.01), "b": jnp.zeros(row["out"])}, (*shape[:-1], row["out"])
        elif kind == "conv":
            made = {"w": jnp.full((row["out"], shape[0], row["kernel"], row["kernel"]), 0.01), "b": jnp.zeros((row["out"], 1, 1))}
            shape = (row["out"], *((side + 2 * row["padding"] - row["kernel"]) // row["stride"] + 1 for side in shape[1:]))
        elif kind == "norm":
            width = (shape[0], 1, 1) if row["of"] == "batch" else shape[-1:]
            made = {"w": jnp.ones(width), "b": jnp.zeros(width)}
        elif kind == "embedding":
            made = {"w": jnp.full((row["entries"], row["width"]), 0.01), "p": jnp.full((row["places"], row["width"]), 0.01)}
            shape = (shape[0], row["width"])
        elif kind == "attention":
            made = {name: {"w": jnp.full((shape[-1], shape[-1]), 0.01), "b": jnp.zeros(shape[-1])} for name in "qkvo"}
        elif kind in ("residual", "block"):
            made, shape = started(row["body"], shape)
        elif kind == "pool":
            shape = (shape[0], *((side - row["kernel"]) // row["stride"] + 1 for side in shape[1:]))
        elif kind == "poolto":
            shape = (shape[0], 1, 1)
        elif kind == "flatten":
            shape = (math.prod(shape),)
        parameters.append(made)
    return parameters, shape


def ran(rows, recompute, parameters, x):
    """The output of rows."""
    for row, part in zip(rows, parameters):
        x = LAYERS[row["kind"]](row, recompute, part, x)
    return x


def dense(part, x):
    return x @ part["w"] + part["b"]


def conv(row, _, part, x):
    strides, padding = (row["stride"],) * 2, [(row["padding"],) * 2] * 2
    return jax.lax.conv_general_dilated(x, part["w"], strides, padding, dimension_numbers=AXES) + part["b"]


def norm(row, _, part, x):
    axes = (0, 2, 3) if row["of"] == "batch" else -1
    mean, deviation = x.mean(axes, keepdims=True), x.std(axes, keepdims=True)
    return (x - mean) / (deviation + 1e-5) * part["w"] + part["b"]


def pool(row, _, __, x):
    window, strides = (1, 1, row["kernel"], row["kernel"]), (1, 1, row["stride"], row["stride"])
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, "VALID")


def attention(row, _, part, x):
    q, k, v = (dense(part[name], x).reshape(*x.shape[:2], row["heads"], -1) for name in "qkv")
    scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1]))
    return dense(part["o"], jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(x.shape))


def block(row, recompute, part, x):
    body = functools.partial(ran, row["body"], recompute)
    return (jax.checkpoint(body) if recompute else body)(part, x)


LAYERS = {
    "linear": lambda row, _, part, x: dense(part, x),
    "conv": conv,
    "norm": norm,
    "pool": pool,
    "attention": attention,
    "block": block,
    "embedding": lambda row, _, part, x: part["w"][x] + part["p"][: x.shape[1]],
    "function": lambda row, _, part, x: FUNCTIONS[row["name"]](x),
    "poolto": lambda row, _, part, x: x.mean((2, 3), keepdims=True),
    "flatten": lambda row, _, part, x: x.reshape(len(x), -1),
    "residual": lambda row, recompute, part, x: x + ran(row["body"], recompute, part, x),
    "loss": lambda row, _, part, x: -jax.nn.log_softmax(x)[..., 0].mean(),
}


def parts(case):
    """The loss function, params and a batch of two."""
    parameters, _ = started(case["rows"], tuple(case["shape"]))
    example = jnp.zeros((2, *case["shape"]), jnp.float32 if len(case["shape"]) == 3 else jnp.int32)
    return functools.partial(ran, case["rows"], case.get("recompute", False)), parameters, example


def build():
    """The builder that gpudoctor traces."""
    with open(os.environ["FIT_CASE"], encoding="utf-8") as file:
        return parts(json.load(file))


def truth(case):
    """For each batch the bytes that a forward pass leaves for backward, and the most that a compiled gradient allocates beside its arguments."""
    loss, parameters, example = parts(case)
    memory = ctypes.CDLL(None)
    memory.allocations_held.restype = memory.allocations_most.restype = ctypes.c_long

    def saved(weights, batch):
        return jax.tree_util.tree_leaves(jax.vjp(lambda weight: loss(weight, batch), weights)[1])

    gradient = jax.jit(jax.value_and_grad(loss))
    size = sum(leaf.nbytes for leaf in jax.tree_util.tree_leaves(parameters))
    steps = []
    for batch in case["batches"]:
        inputs = jnp.zeros((batch, *example.shape[1:]), example.dtype)
        jax.block_until_ready((saved(parameters, inputs), gradient(parameters, inputs)))
        del inputs
        gc.collect()
        before = memory.allocations_held()
        inputs = jnp.zeros((batch, *example.shape[1:]), example.dtype)
        residuals = jax.block_until_ready(saved(parameters, inputs))
        del inputs  # alive only if it is saved
        gc.collect()
        kept = memory.allocations_held() - before
        del residuals
        inputs = jnp.zeros((batch, *example.shape[1:]), example.dtype)
        gc.collect()
        before = memory.allocations_held()
        memory.allocations_most()
        jax.block_until_ready(gradient(parameters, inputs))
        steps.append({"batch": batch, "kept": kept, "peak": memory.allocations_most() - before - size})
        del inputs
    return {"parameters": sum(leaf.size for leaf in jax.tree_util.tree_leaves(parameters)), "steps": steps}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(truth(json.loads(line))), flush=True)
