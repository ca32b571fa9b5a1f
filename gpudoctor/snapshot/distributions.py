"""The names of distributions: how they compare, and which of them are a framework itself."""

from __future__ import annotations

TENSORFLOW = frozenset((
    "tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-cpu-aws", "tensorflow-aarch64", "tensorflow-rocm", "tensorflow-macos",
    "tensorflow-intel", "tensorflow-directml", "tensorflow-base", "intel-tensorflow", "intel-tensorflow-avx512", "nvidia-tensorflow",
    "tf-nightly", "tf-nightly-gpu", "tf-nightly-cpu", "tf-nightly-rocm", "tf-nightly-cpu-aws",
))  # fmt: skip
"""The distributions that are TensorFlow itself, by normalised name."""


def normalise(name: str) -> str:
    """The name as PEP 503 compares it: tensorflow_cpu and TensorFlow.CPU are tensorflow-cpu."""
    return "-".join(part for part in name.lower().replace("_", "-").replace(".", "-").split("-") if part)


def family(name: str) -> str | None:
    """The framework that a distribution of this normalised name is, or None where it is none."""
    return "tensorflow" if name in TENSORFLOW else name if name in {"torch", "jax"} else None
