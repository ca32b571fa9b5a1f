"""Rebuilds compat/others.csv: what brings a GPU to TensorFlow without CUDA, Keras, and other packages that come with CUDA code."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import refresh_tensorflow
from refresh_common import Wheel, refresh
from refresh_metadata import requires
from refresh_tensorflow import names_in
from refresh_torch import parse_version_py

from gpudoctor import versions
from gpudoctor.matrix.tables import OTHERS
from gpudoctor.versions import Version

_CUPY = ("cupy-cuda102", "cupy-cuda110", "cupy-cuda111", "cupy-cuda112", *(f"cupy-cuda{number}" for number in range(113, 118)))
_MXNET = ("mxnet-cu100", "mxnet-cu101", "mxnet-cu102", "mxnet-cu110", "mxnet-cu112", *(f"mxnet-cu{number}" for number in range(113, 118)))
_KERAS = ("keras", "tf-keras")
PROJECTS = (
    "tensorflow-directml",
    "tensorflow-directml-plugin",
    "tensorflow-intel",
    "tensorflow-metal",
    *_KERAS,
    *("cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x"),
    *_CUPY,
    "onnxruntime-gpu",
    "paddlepaddle-gpu",
    *_MXNET,
)
_OLDEST = {"cupy": (12, 0), "onnxruntime": (1, 11), "paddlepaddle": (2, 0), "mxnet": (1, 9), "tensorflow-intel": (2, 10), "keras": (2, 4)}
_START = 1 << 23
"""Bytes at the start of a library in which the names of those it needs lie."""
_OF_GPUS = {"directml": "directml", "metal": "metal"}
"""Distributions that hold no CUDA, by a word of their name."""


def wanted(distribution: str, release: Version) -> bool:
    """Whether the table holds this release; of packages for one exact CUDA, the last of each line."""
    if re.fullmatch(r"cupy-cuda\d+", distribution):
        return release[:2] in {(10, 6), (12, 3)}
    oldest = [first for word, first in _OLDEST.items() if distribution.startswith(word)]
    return release.build <= 0 and (not oldest or release[:2] >= oldest[0])


def cuda_in(distribution: str) -> Version | None:
    """The CUDA in a distribution's name: "cupy-cuda12x" is 12, "mxnet-cu112" 11.2; None where it names none."""
    named = re.fullmatch(r".*-cu(?:da)?(?:(\d\d)x|(\d+)(\d))", distribution)
    return versions.parse(named[1] or f"{named[2]}.{named[3]}") if named else None


def parse_cupy(text: str) -> dict[str, Any]:
    """The CUDA and cuDNN that CuPy's _wheel.json names; "12.x" is all of 12, "10.2-jetson" 10.2."""
    told = json.loads(text)
    cuda = re.match(r"\d+(\.\d+)*", told["cuda"])
    return {"built_with_cuda": versions.parse(cuda[0] if cuda else ""), "cudnn": versions.parse(told.get("cudnn", {}).get("version", ""))}


def parse_constants(text: str) -> dict[str, Any]:
    """The CUDA and cuDNN among the variables of a module; nothing in it is run."""
    told = parse_version_py(text)
    named = {"built_with_cuda": told.get("cuda_version"), "cudnn": told.get("cudnn_version")}
    return {field: versions.parse(str(text)) for field, text in named.items() if versions.parse(str(text))}


def sonames_in(start: bytes) -> dict[str, Any]:
    """The CUDA and cuDNN whose libraries the start of a library asks for; libcudart.so.11.0 is that of all 11.x."""
    named = dict(names_in(start))
    cuda, cudnn = named.get("art", ""), named.get("nn", "")
    return {"built_with_cuda": versions.parse(cuda.removesuffix(".0") if cuda.startswith("11") else cuda), "cudnn": versions.parse(cudnn)}


def read(wheel: Wheel) -> dict[str, Any]:
    """The fields that one wheel tells, over what its name does."""
    name, platform = wheel.release.distribution, wheel.release.platform
    if name == "tensorflow-intel":
        return refresh_tensorflow.read(wheel)
    required = requires(wheel.metadata(), platform)
    if name in _KERAS:
        return {"accelerator": "none", "requires": required, "source": (f"{name}-wheels",)}
    for word, accelerator in _OF_GPUS.items():
        if word in name:
            return {"accelerator": accelerator, "requires": required}
    source = f"{name.partition('-cu')[0]}-wheels"
    row = {"accelerator": "cuda", "built_with_cuda": cuda_in(name), "requires": required, "source": (source,)}
    cupy = wheel.text("/cupy/.data/_wheel.json")
    module = wheel.text("/onnxruntime/capi/build_and_package_info.py") or wheel.text("/paddle/version/__init__.py")
    asked = wheel.learn("start of the CUDA provider", lambda: _start(wheel, "/libonnxruntime_providers_cuda.so"))
    row |= sonames_in(bytes.fromhex(asked)) if asked else {}
    return row | (parse_cupy(cupy) if cupy else {}) | (parse_constants(module) if module else {})


def _start(wheel: Wheel, ending: str) -> str | None:
    """The strings of CUDA libraries where a library's own needs are listed, as hexadecimal digits; None where there is no such library."""
    member = wheel.find(ending)
    if member is None:
        return None
    with wheel.zip.open(member) as library:
        start = library.read(_START)
    return b"".join(match[0] for match in re.finditer(rb"lib(?:cudart|cudnn)\.so\.[\d.]+\0", start)).hex()


if __name__ == "__main__":
    sys.exit(refresh(OTHERS, PROJECTS, wanted, read))
