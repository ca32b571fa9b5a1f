"""The installed distributions that matter to a GPU, from the names of their metadata folders."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gpudoctor.probe import files
from gpudoctor.snapshot import Distribution, Missing, Packages, readable

BEGINNINGS = (
    "tensorflow",
    "tf-nightly",
    "intel-tensorflow",
    "nvidia-",
    "tensorrt",
    "torch",
    "pytorch-",
    "triton",
    "jax",
    "keras",
    "tf-keras",
    "cupy",
    "onnxruntime",
    "cuda-",
    "flash-attn",
    "bitsandbytes",
    "xformers",
    "deepspeed",
    "transformer-engine",
    "vllm",
    "numba",
    "pycuda",
    "paddlepaddle",
    "mxnet",
    "xgboost",
    "lightgbm",
)
NAMES = (
    "numpy",
    "protobuf",
    "ml-dtypes",
    "h5py",
    "scipy",
    "apex",
    "pynvml",
    "rmm",
    "cudf",
    "cuml",
    "transformers",
    "accelerate",
    "diffusers",
)
SUFFIXES = (".dist-info", ".egg-info")


def normalise(name: str) -> str:
    """The name as PEP 503 compares it: tensorflow_cpu and TensorFlow.CPU are tensorflow-cpu."""
    return "-".join(part for part in name.lower().replace("_", "-").replace(".", "-").split("-") if part)


def relevant(name: str) -> bool:
    """Whether a distribution of this normalised name matters to a GPU."""
    return name in NAMES or name.startswith(BEGINNINGS)


def parse(folder: str) -> tuple[str, str] | None:
    """Normalised name and version in a metadata folder's name, or None where it is no such folder."""
    stem, suffix = os.path.splitext(folder)
    if suffix not in SUFFIXES:
        return None
    name, _, version = stem.partition("-")
    if suffix == ".egg-info":
        version = version.partition("-py")[0]
    elif "-" in version:  # an old wheel that kept the dashes of its name
        name, _, version = stem.rpartition("-")
    return (normalise(name), version) if name and version else None


def packages(path: Iterable[str]) -> Packages:
    """The relevant distributions in the folders of `path`, a sys.path; one that cannot be read holds none."""
    found, seen = [], set()
    for folder in path:
        if not os.path.isabs(folder) or folder in seen:
            continue
        seen.add(folder)
        entries = files.names(folder)
        for entry in () if isinstance(entries, Missing) else entries:
            named = parse(entry)
            if named and relevant(named[0]):
                found.append(Distribution(name=readable(named[0]), version=readable(named[1]), where=readable(folder)))
    return Packages(distributions=tuple(found))
