"""Distributions that install the same import package, one with GPU code and one without: the one installed last is imported.

Read in the files of a published wheel of each, of onnxruntime 1.19 to 1.31, faiss 1.7 to 1.9 and xgboost 3.4. The copies of frameworks and of CuPy have rules of their own.
"""

from __future__ import annotations

_DISTRIBUTIONS_BY_PACKAGE = {
    "onnxruntime": ("onnxruntime-gpu", "onnxruntime", "onnxruntime-directml", "onnxruntime-openvino", "onnxruntime-training"),
    "faiss": ("faiss-gpu-cu12", "faiss-gpu-cu11", "faiss-gpu", "faiss-cpu"),
    "xgboost": ("xgboost", "xgboost-cpu", "xgboost-cu12"),
}
"""By import package."""
_GROUP_BY_NAME = {name: names for names in _DISTRIBUTIONS_BY_PACKAGE.values() for name in names}


def preferred(names: tuple[str, ...]) -> str:
    """Return the distribution with the most GPU code of several that install the same import package; empty if that is unknown."""
    return next((name for name in distributions_sharing_package(names[0]) if name in names), "")


def distributions_sharing_package(distribution: str) -> tuple[str, ...]:
    """Return the distributions that install the same import package; () for one that shares it with none."""
    return _GROUP_BY_NAME.get(distribution, ())
