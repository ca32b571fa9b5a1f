"""Rebuilds compat/others.csv: GPU packages for TensorFlow without CUDA, Keras, and other packages with CUDA code."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from gpudoctor import versions
from gpudoctor.matrix.tables import OTHER_RELEASES
from gpudoctor.versions import Version
from scripts.refresh import tensorflow as refresh_tensorflow
from scripts.refresh.add_ons import architectures, compiled_with, kernels
from scripts.refresh.common import Wheel, numpy_abi, refresh
from scripts.refresh.metadata import beside, requires
from scripts.refresh.tensorflow import Libraries, parse_version, read_library
from scripts.refresh.torch import parse_version_py

_CUPY = tuple(f"cupy-cuda{number}" for number in (80, 90, 91, 92, 100, 101, 102, *range(110, 118)))
_MXNET = ("mxnet-cu100", "mxnet-cu101", "mxnet-cu102", "mxnet-cu110", "mxnet-cu112", *(f"mxnet-cu{number}" for number in range(113, 118)))
_KERAS = ("keras", "tf-keras")
PROJECTS = (
    "tensorflow-directml",
    "tensorflow-directml-plugin",
    "torch-directml",
    "tensorflow-intel",
    "tensorflow-metal",
    "jax-metal",
    *_KERAS,
    *("cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x"),
    *_CUPY,
    "onnxruntime-gpu",
    "paddlepaddle-gpu",
    *_MXNET,
)
_OLDEST = {"onnxruntime": (1, 11), "paddlepaddle": (2, 0), "mxnet": (1, 5), "tensorflow-intel": (2, 10), "keras": (2, 0)}
_PROVIDERS = ("/libonnxruntime_providers_cuda.so", "/onnxruntime_providers_cuda.dll")
"""The library of onnxruntime with the GPU code."""
_MODULE = "onnxruntime/capi/onnxruntime_pybind11_state."
_KERNELS = {
    "mxnet": r"mxnet/libmxnet\.(?:so|dll)",
    "paddlepaddle": r"paddle/(?:fluid/core_avx|(?:fluid|base)/libpaddle)\.(?:so|pyd)|paddle/libs/libphi(?:_gpu)?\.(?:so|dll)",
}
"""The libraries with the GPU code, by the beginning of the distribution's name."""
_OF_GPUS = {"directml": "directml", "metal": "metal"}
"""Distributions without CUDA, by a part of their name."""
_TOO_NEW = {"jax-metal": ("jax", "0.5.1", "jax-issue-27062")}
"""The first release of a framework that a plugin fails beside, though no METADATA says so, and the source, by the plugin's name."""


def wanted(distribution: str, release: Version) -> bool:
    """Return whether the table has this release."""
    oldest = [first for word, first in _OLDEST.items() if distribution.startswith(word)]
    return release.build <= 0 and (not oldest or release[:2] >= oldest[0])


def cuda_in(distribution: str) -> Version | None:
    """Return the CUDA version in a distribution's name: "cupy-cuda12x" is 12, "mxnet-cu112" 11.2; None if there is none."""
    named = re.fullmatch(r".*-cu(?:da)?(?:(\d\d)x|(\d+)(\d))", distribution)
    return versions.parse_version(named[1] or f"{named[2]}.{named[3]}") if named else None


def bounded(distribution: str, required: tuple[str, ...]) -> tuple[str, ...]:
    """Return requirements with the bound on a framework that the distribution is known to fail beyond, where METADATA has none."""
    framework, first, _ = _TOO_NEW.get(distribution, ("", "", ""))
    is_open = any(text.startswith(f"{framework}>=") for text in required) if framework else False
    return tuple(sorted((*required, beside(f"{framework}<{first}")))) if is_open else required


def parse_cupy(text: str) -> dict[str, Any]:
    """Return the CUDA and cuDNN versions in CuPy's _wheel.json; "12.x" is all of 12, "10.2-jetson" 10.2."""
    told = json.loads(text)
    cuda = re.match(r"\d+(\.\d+)*", told["cuda"])
    return {
        "built_with_cuda": versions.parse_version(cuda[0] if cuda else ""),
        "cudnn": versions.parse_version(told.get("cudnn", {}).get("version", "")),
    }


def parse_constants(text: str) -> dict[str, Any]:
    """Return the CUDA and cuDNN versions among the variables of a module, without running it."""
    told = parse_version_py(text)
    named = {"built_with_cuda": told.get("cuda_version"), "cudnn": told.get("cudnn_version")}
    return {field: versions.parse_version(str(text)) for field, text in named.items() if versions.parse_version(str(text))}


def libraries_in(found: Libraries) -> dict[str, Any]:
    """Return the CUDA and cuDNN versions in the libraries that a provider names; libcudart.so.11.0 and cudart64_110.dll stand for all of 11.x."""
    cuda, cudnn = (set(filter(None, map(parse_version, named))) for named in (found.cuda, found.cudnn))
    told: dict[str, Any] = {}
    if len(cuda) == 1:
        only = cuda.pop()
        told["built_with_cuda"] = versions.parse_version("11") if only[:2] == (11, 0) else only
    return told | ({"cudnn": cudnn.pop()} if len(cudnn) == 1 else {})


def read(wheel: Wheel) -> dict[str, Any]:
    """Return the fields that one wheel provides, in addition to those in its name."""
    name, platform = wheel.release.distribution, wheel.release.platform
    if name == "tensorflow-intel":
        return refresh_tensorflow.read(wheel)
    required = bounded(name, requires(wheel.metadata(), platform))
    if name in _KERAS:
        return {"accelerator": "none", "requires": required, "source": (f"{name}-wheels",)}
    for word, accelerator in _OF_GPUS.items():
        if word in name:
            told: dict[str, Any] = {"source": (f"{name}-wheels", *_TOO_NEW[name][2:])} if name in _TOO_NEW else {}
            told |= {"requires": required} if required else {}  # of tensorflow-metal, the table in its description
            return {"accelerator": accelerator, **told}
    source = f"{name.partition('-cu')[0]}-wheels"
    row: dict[str, Any] = {"accelerator": "cuda", "built_with_cuda": cuda_in(name), "requires": required, "source": (source,)}
    cupy = wheel.text("/cupy/.data/_wheel.json")
    module = wheel.text("/onnxruntime/capi/build_and_package_info.py") or wheel.text("/paddle/version/__init__.py")
    row |= {**_provider(wheel), "numpy_abi": wheel.learn("NumPy", lambda: _numpy(wheel))} if name.startswith("onnxruntime") else {}
    row |= (parse_cupy(cupy) if cupy else {}) | (parse_constants(module) if module else {})
    return row | _code(wheel, row["built_with_cuda"])


def _code(wheel: Wheel, cuda: Version | None) -> dict[str, Any]:
    """Return the GPU code of a framework's libraries and, if nothing else states it, their CUDA; nothing for other packages."""
    pattern = next((known for word, known in _KERNELS.items() if wheel.release.distribution.startswith(word)), "")
    if not pattern:
        return {}
    found = kernels(wheel, pattern)
    code = architectures(found.values())
    known = code if any(code.values()) else dict.fromkeys(code)  # it has GPU code, whatever form that has
    return {**known, "built_with_cuda": cuda or compiled_with(wheel, found)}


def _provider(wheel: Wheel) -> dict[str, Any]:
    """Return what the CUDA provider of onnxruntime contains and needs, read once from end to end."""
    answers = (wheel.learn_of(ending, "code and names", lambda library: read_library(library)._asdict()) for ending in _PROVIDERS)
    found = next((Libraries(**answer) for answer in answers if answer), Libraries())
    return {**libraries_in(found), "sass": tuple(found.sass) or None, "ptx": tuple(found.ptx) if found.sass else None}


def _numpy(wheel: Wheel) -> int | None:
    """Return the NumPy that the Python module of onnxruntime supports."""
    name = next((name for name in wheel.zip.namelist() if name.startswith(_MODULE)), None)
    return numpy_abi(wheel.zip.read(name)) if name else None


if __name__ == "__main__":
    sys.exit(refresh(OTHER_RELEASES, PROJECTS, wanted, read))
