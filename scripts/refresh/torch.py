"""Rebuilds compat/torch.csv from the published wheels of PyTorch, torchvision and torchaudio."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from typing import Any

from gpudoctor import versions
from gpudoctor.matrix.tables import RELEASE_TABLES
from gpudoctor.versions import Version
from scripts.refresh.common import Wheel, numpy_abi, refresh
from scripts.refresh.fatbin import order, read_code
from scripts.refresh.metadata import requires

_OLDEST = {"torch": (1, 0), "torchvision": (0, 3), "torchaudio": (0, 3)}
PROJECTS = tuple(_OLDEST)
DOCUMENTED = {("torchaudio", "2.11.0"): ("torch>=2.11",)}
"""Requirements that a release's METADATA leaves out and its documentation states."""

_LIBRARIES = ("/torch/lib/libtorch_python.so", "/torch/lib/libtorch_python.dylib", "/torch/lib/torch_python.dll")
_KERNELS = ("/torch/lib/libtorch_cuda.so", "/torch/lib/libtorch.so", "/torch/lib/libcaffe2_gpu.so")
_ARCHITECTURE = rb"(?:sm|compute)_\d+[af]?"
_ARCHITECTURES = re.compile(_ARCHITECTURE + rb"(?: " + _ARCHITECTURE + rb"){2,}")
_METAL = b"/MetalPerformanceShaders.framework/"
_HEADER = 1 << 16
"""Bytes of a macOS library with the names of those it needs."""
_CUDART = re.compile(rb"libcudart[-.0-9a-f]*\.so\.(\d+\.\d+)\0")


def wanted(distribution: str, release: Version) -> bool:
    """Return whether the table has this release."""
    return distribution in _OLDEST and release >= _OLDEST[distribution]


def parse_version_py(text: str) -> dict[str, Any]:
    """Return the constant variables of version.py, without running it."""
    facts: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Constant):
            target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
            facts[ast.unparse(target)] = statement.value.value
    return facts


def parse_architectures(library: bytes) -> tuple[str, ...] | None:
    """Return the result of torch.cuda.get_arch_list(), one string in libtorch_python.so; None if there is none, or several."""
    found = {text.decode() for text in _ARCHITECTURES.findall(library)}
    return tuple(found.pop().split()) if len(found) == 1 else None


def cuda_of(local: str) -> Version | None:
    """Return the CUDA version in a local version: "cu128" is 12.8; None for anything else."""
    named = re.fullmatch(r"cu(\d+)(\d)", local)
    return versions.parse_version(f"{named[1]}.{named[2]}") if named else None


def torch_facts(version_py: dict[str, Any], required: Iterable[str], architectures: Iterable[str] | None, *, metal: bool) -> dict[str, Any]:
    """Return the row's facts about a build of torch; its cuDNN is the one that it pins."""
    if "cuda" not in version_py:
        raise ValueError("torch/version.py does not state its CUDA version")
    if version_py["cuda"] is None:
        return _without_cuda("metal" if metal else "cpu")
    pins = {name: pin for name, _, pin in (requirement.partition("==") for requirement in required)}
    cudnn = [versions.parse_version(pin) for name, pin in pins.items() if name.startswith("nvidia-cudnn-")]
    cuda = versions.parse_version(version_py["cuda"])
    return _with_cuda(cuda, architectures) | {"cudnn": cudnn[0] if len(cudnn) == 1 else None}


def extension_facts(version_py: dict[str, Any], code: Iterable[str], opened: Iterable[str]) -> dict[str, Any]:
    """Return the row's facts about a build of torchvision or torchaudio, by its local version or the CUDA runtime that its library opens.

    Windows and macOS have no wheel with CUDA on the index.
    """
    if "__version__" not in version_py:
        raise ValueError("version.py does not state its version")
    cuda = cuda_of(version_py["__version__"].partition("+")[2])
    runtimes = set(opened)
    if cuda is None and len(runtimes) == 1:
        cuda = versions.parse_version(runtimes.pop())
    return _with_cuda(cuda, code) if cuda else _without_cuda("cpu")


def read(wheel: Wheel) -> dict[str, Any]:
    """Return the fields that one wheel gives."""
    version_py = wheel.text(f"/{wheel.release.distribution}/version.py")
    if version_py is None:
        raise ValueError("the wheel has no version.py")
    required = requires(wheel.metadata(), wheel.release.platform)
    facts = parse_version_py(version_py)
    if wheel.release.distribution != "torch":
        code, opened = wheel.learn("code of its modules and the CUDA runtime they need", lambda: _modules(wheel))
        documented = DOCUMENTED.get((wheel.release.distribution, str(wheel.release.release)), ())
        return {"requires": (*required, *documented), **extension_facts(facts, code, opened)}
    architectures, numpy = wheel.learn("architectures and NumPy of torch_python", lambda: _python_library(wheel))
    if architectures is None and facts.get("cuda") and wheel.release.platform.startswith("linux_"):
        architectures = _kernels(wheel)
    metal = wheel.release.platform.startswith("macos") and wheel.learn("Metal", lambda: _metal(wheel))
    return {"requires": required, "numpy_abi": numpy, **torch_facts(facts, required, architectures, metal=metal)}


def _with_cuda(cuda: Version | None, code: Iterable[str] | None) -> dict[str, Any]:
    names = None if code is None else sorted(code, key=order)
    return {
        "accelerator": "cuda",
        "built_with_cuda": cuda,
        "sass": None if names is None else tuple(name for name in names if name.startswith("sm_")),
        "ptx": None if names is None else tuple(name for name in names if name.startswith("compute_")),
    }


def _without_cuda(accelerator: str) -> dict[str, Any]:
    return {"accelerator": accelerator, "built_with_cuda": None, "cudnn": None, "sass": None, "ptx": None}


def _python_library(wheel: Wheel) -> tuple[tuple[str, ...] | None, int | None]:
    """Return the architectures that the library lists, and the NumPy that it supports."""
    name = next((found for found in map(wheel.find, _LIBRARIES) if found), None)
    if name is None:
        raise ValueError("the wheel has no torch_python library")
    library = wheel.zip.read(name)
    return parse_architectures(library), numpy_abi(library)


_OF_NCCL = {("sm_35", ("compute_37",))}
"""Machine code beside PTX of PyTorch's own lowest architecture: it is of NCCL, which is in the same file, in 1.3.1 to 1.5 (pytorch-builder-1.4)."""


def _kernels(wheel: Wheel) -> tuple[str, ...] | None:
    """Return the architectures in the library with the kernels, by its fat binaries: the list exists since 1.6."""
    answers = (wheel.learn_of(ending, "GPU code", read_code) for ending in _KERNELS)
    found = next((answer for answer in answers if answer and any(answer)), None)
    return None if found is None else tuple(name for names in found for name in names if (name, found.ptx) not in _OF_NCCL)


def _metal(wheel: Wheel) -> bool:
    """Return whether the library of a macOS wheel needs Metal."""
    name = wheel.find("/torch/lib/libtorch_cpu.dylib")
    if name is None:
        return False
    with wheel.zip.open(name) as library:
        return _METAL in library.read(_HEADER)


def _modules(wheel: Wheel) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the architectures in the Linux modules of torchvision or torchaudio, and the CUDA runtimes they need ("10.2")."""
    code: set[str] = set()
    opened: set[str] = set()
    inside = f"{wheel.release.distribution}/"
    for name in wheel.zip.namelist():
        if name.startswith(inside) and name.endswith(".so"):
            with wheel.zip.open(name) as module:
                found = read_code(module)
            code.update(found.sass, found.ptx)
            if found.sass:
                opened.update(text.decode() for text in _CUDART.findall(wheel.zip.read(name)))
    return tuple(sorted(code, key=order)), tuple(sorted(opened))


if __name__ == "__main__":
    sys.exit(refresh(RELEASE_TABLES["torch"], PROJECTS, wanted, read))
