"""Ways for an all-reduce to fail on the second of two CPUs, for each framework, run before the child's own first line."""

from __future__ import annotations

_WRAPPED = {
    "tensorflow": """
import os, time
import tensorflow as tf
_all_reduce = tf.distribute.ReplicaContext.all_reduce
def all_reduce(self, op, value):
    second, right = tf.equal(self.replica_id_in_sync_group, 1), _all_reduce(self, op, value)
    {body}
tf.distribute.ReplicaContext.all_reduce = all_reduce
""",
    "torch": """
import os, time
import torch.distributed as dist
_all_reduce = dist.all_reduce
def all_reduce(value):
    second = dist.get_rank() == 1
    {body}
dist.all_reduce = all_reduce
""",
    "jax": """
import os, time
import jax
_psum = jax.lax.psum
def psum(value, axis):
    second, right = jax.lax.axis_index(axis) == 1, _psum(value, axis)
    {body}
jax.lax.psum = psum
""",
}
_WRONG = {
    "tensorflow": "return right + tf.cast(second, tf.float32) / 64",
    "torch": "_all_reduce(value); value[5] += second / 64",
    "jax": "return right.at[5].add(second / 64)",
}
_NAN_IN_JAX = "return right.at[5].add(jax.numpy.where(second, float('nan'), 0.0))"
_HANGS = {
    "tensorflow": "time.sleep(600)",
    "torch": "_all_reduce(value) if not second else time.sleep(600)",  # the first waits in gloo
    "jax": "time.sleep(600)",
}
_RIGHT = {"tensorflow": "return right", "torch": "return _all_reduce(value)", "jax": "return right"}


def wrong(framework: str) -> str:
    """Off by 1/64."""
    return _WRAPPED[framework].format(body=_WRONG[framework])


def not_a_number_in_jax() -> str:
    return _WRAPPED["jax"].format(body=_NAN_IN_JAX)


def hangs(framework: str) -> str:
    return _WRAPPED[framework].format(body=_HANGS[framework])


def right_without_p2p(framework: str, otherwise: str) -> str:
    """Right if NCCL_P2P_DISABLE is 1, otherwise "wrong" or "hangs"."""
    body = {"wrong": _WRONG, "hangs": _HANGS}[otherwise][framework]
    return _WRAPPED[framework].format(body=f"if os.environ.get('NCCL_P2P_DISABLE') == '1': {_RIGHT[framework]}\n    {body}")


def only_in_sums(patch: str) -> str:
    """`patch` for the child that runs the all-reduce, not for the one that trains."""
    return f"import sys\nif '--all-reduce' in sys.orig_argv:\n    exec({patch!r})\n"


CRASHES = """
import os, signal, torch.distributed as dist
dist.all_reduce = lambda value: os.kill(os.getpid(), signal.SIGSEGV) if dist.get_rank() else None
"""
"""Torch's second process dies of a segmentation fault."""
