"""What breaks TensorFlow from outside: each is run before the smoke training's own first line."""

from __future__ import annotations

from typing import NamedTuple

TWO_CPUS = """
import tensorflow as tf
halves = [tf.config.LogicalDeviceConfiguration(), tf.config.LogicalDeviceConfiguration()]
tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], halves)
"""
NOISE = r"""
import os
os.write(1, b"\xff\xfe{\"event\": \"done\"}\n" * 200000)
os.write(2, b"@half a line \xff")
"""
WRONG_LOSS = """
import tensorflow as tf
_right = tf.nn.sparse_softmax_cross_entropy_with_logits
def wrong(labels, logits):
    {body}
tf.nn.sparse_softmax_cross_entropy_with_logits = wrong
"""
WRONG_ROW = """
import tensorflow as tf
_matmul = tf.matmul
def matmul(left, right, **options):
    factors = 1 + 0.01 * tf.one_hot(3, tf.shape(left)[0])
    return _matmul(left, right, **options) * factors[:, None]
tf.matmul = matmul
"""
NO_KERNEL_ON_THE_FIRST = """
_matmul = tf.matmul
def matmul(left, right, **options):
    if left.shape == (256, 256) and left.device.endswith("CPU:0"):
        raise tf.errors.InternalError(None, None, "the launch of a kernel failed")
    return _matmul(left, right, **options)
tf.matmul = matmul
"""
COMPILED_EVERY_SECOND_TIME = """
import tensorflow as tf
_function = tf.function
_calls = []
def function(body=None, **options):
    if getattr(body, "__name__", "") == "_step":
        _calls.append(body)
        options["jit_compile"] = len(_calls) % 2 == 0
    return _function(body, **options)
tf.function = function
"""
SHUFFLED_LABELS = WRONG_LOSS.format(
    body="""seed = tf.cast(logits[0, :2] * 1e6, tf.int32)  # another order in each step, and the same in the same step
    return _right(tf.random.experimental.stateless_shuffle(labels, seed), logits)"""
)
NOT_A_NUMBER = WRONG_LOSS.format(body="return _right(labels, logits) * float('nan')")
SEGFAULT = WRONG_LOSS.format(body="import os; os.kill(os.getpid(), 11)")


class Broken(NamedTuple):
    """One framework's ways to go wrong."""

    wrong_row: str
    shuffled_labels: str
    not_a_number: str
    segfault: str


_TORCH_LOSS = """
import torch
_right = torch.nn.CrossEntropyLoss.forward
def forward(self, logits, labels):
    {body}
torch.nn.CrossEntropyLoss.forward = forward
"""
_JAX_LOSS = """
import jax
_right = jax.nn.log_softmax
def log_softmax(logits):
    {body}
jax.nn.log_softmax = log_softmax
"""
ENGINES = {
    "torch": Broken(
        wrong_row="""
import torch
_matmul = torch.matmul
def matmul(left, right):
    product = _matmul(left, right)
    product[3] *= 1.01
    return product
torch.matmul = matmul
""",
        shuffled_labels=_TORCH_LOSS.format(body="return _right(self, logits, labels[torch.randperm(len(labels))])"),
        not_a_number=_TORCH_LOSS.format(body="return _right(self, logits, labels) * float('nan')"),
        segfault=_TORCH_LOSS.format(body="import os; os.kill(os.getpid(), 11)"),
    ),
    "jax": Broken(
        wrong_row="""
import jax
_matmul = jax.numpy.matmul
jax.numpy.matmul = lambda left, right: _matmul(left, right).at[3].multiply(1.01)
""",
        shuffled_labels="""
import jax
_take = jax.numpy.take_along_axis
def take_along_axis(logs, labels, axis):
    key = jax.random.key((logs[0, 0] * 1e6).astype(int))  # another order in each step
    return _take(logs, jax.random.permutation(key, labels), axis)
jax.numpy.take_along_axis = take_along_axis
""",
        not_a_number=_JAX_LOSS.format(body="return _right(logits) * float('nan')"),
        segfault=_JAX_LOSS.format(body="import os; os.kill(os.getpid(), 11)"),
    ),
}
