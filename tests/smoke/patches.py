"""Code that breaks a framework from outside, run before the smoke training's own first line."""

from __future__ import annotations

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
    factors = 1 + 0.03 * tf.one_hot(3, tf.shape(left)[0])
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


WRONG_ROW_AND_NAN = {
    "torch": """
import torch
_matmul = torch.matmul
def matmul(left, right):
    product = _matmul(left, right)
    product[3] *= 1.01
    return product
torch.matmul = matmul
_right = torch.nn.CrossEntropyLoss.forward
torch.nn.CrossEntropyLoss.forward = lambda self, logits, labels: _right(self, logits, labels) * float("nan")
""",
    "jax": """
import jax
_matmul = jax.numpy.matmul
jax.numpy.matmul = lambda left, right: _matmul(left, right).at[3].multiply(1.01)
_right = jax.nn.log_softmax
jax.nn.log_softmax = lambda logits: _right(logits) * float("nan")
""",
}
WRONG_ON_THE_SECOND = {
    "tensorflow": TWO_CPUS
    + WRONG_LOSS.format(body="return _right(labels, logits) * (1.0001 if 'CPU:1' in tf.identity(logits).device else 1.0)"),
    "jax": """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax
_put = jax.device_put
def device_put(tree, device=None):
    if isinstance(tree, tuple) and getattr(tree[0], "ndim", 0) == 3 and getattr(device, "id", 0) == 1:  # a batch, and no factor of a product
        tree = tree[0] * 1.001, tree[1]
    return _put(tree, device)
jax.device_put = device_put
""",
}
"""Two virtual CPUs, and only training on the second is slightly wrong."""
WRONG_IN_BF16 = """
import tensorflow as tf
_matmul = tf.matmul
def matmul(left, right, **options):
    product = _matmul(left, right, **options)
    if left.dtype != tf.bfloat16:
        return product
    factors = 1 + 0.03 * tf.one_hot(32, tf.shape(left)[0])  # one of the rows that are looked at
    return tf.cast(tf.cast(product, tf.float32) * factors[:, None], tf.bfloat16)
tf.matmul = matmul
"""
BRIEF = """
import importlib.util
_from_file = importlib.util.spec_from_file_location
def from_file(name, path):
    spec = _from_file(name, path)
    if name == "gpudoctor_smoke_task":
        run = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (run(module), shorten(module))
    return spec
def shorten(task):
    task.NETWORKS = tuple(network._replace(steps=task.BLOCK, short_steps=task.BLOCK) for network in task.NETWORKS)
importlib.util.spec_from_file_location = from_file
"""
"""Ten steps of each network, for tests of what follows training."""
ANSWERING = """
import os
FD = int(sys.orig_argv[sys.orig_argv.index("--answer-fd") + 1])
"""
"""The descriptor that the training answers on."""
EARLY = {"tensorflow": "tensorflow.python", "torch": "torch.torch_version", "jax": "jax.version"}
"""A module that each framework imports early."""


def at_import(framework: str, body: str) -> str:
    """Statements executed in the middle of a framework's import."""
    return f"""
import os, signal, sys, time
class Early:
    def find_spec(self, name, path=None, target=None):
        if name == "{EARLY[framework]}":
            {body}
sys.meta_path.insert(0, Early())
"""


def without_module(missing: str) -> str:
    """Statements after which a module is not installed."""
    return f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "{missing}":
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)
sys.meta_path.insert(0, Hidden())
"""
