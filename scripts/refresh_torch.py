"""Rebuilds compat/torch.csv from what the published wheels of PyTorch say of themselves."""

from __future__ import annotations

import ast
import re
import sys
import zipfile
from typing import Any

from refresh_common import member, nvidia_pins, refresh

from gpudoctor import versions
from gpudoctor.matrix.tables import TORCH
from gpudoctor.versions import Version

_ARCHITECTURE = rb"(?:sm|compute)_\d+[af]?"
_ARCHITECTURES = re.compile(_ARCHITECTURE + rb"(?: " + _ARCHITECTURE + rb"){2,}")


def wanted(release: Version) -> bool:
    """Whether the table holds this release."""
    return release.major >= 2


def parse_version_py(text: str) -> dict[str, Any]:
    """The variables of torch/version.py that are constants; nothing in it is run."""
    facts: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Constant):
            target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
            facts[ast.unparse(target)] = statement.value.value
    return facts


def parse_architectures(library: bytes) -> tuple[str, ...] | None:
    """What torch.cuda.get_arch_list() answers, which libtorch_python.so holds as one string; None where it holds none or several."""
    found = {text.decode() for text in _ARCHITECTURES.findall(library)}
    return tuple(found.pop().split()) if len(found) == 1 else None


def facts_of(version_py: dict[str, Any], metadata: str, library: bytes) -> dict[str, Any]:
    """The fields of the row that a wheel tells; cuDNN is the one that it pins."""
    if "cuda" not in version_py:
        raise ValueError("torch/version.py does not name its CUDA")
    if version_py["cuda"] is None:
        return {"accelerator": "cpu", "requires": ()}
    pins = nvidia_pins(metadata, None)
    cudnn = [pin.partition("==")[2] for pin in pins if pin.startswith("nvidia-cudnn-")]
    told = {
        "accelerator": "cuda",
        "built_with_cuda": versions.parse(version_py["cuda"]),
        "cudnn": versions.parse(cudnn[0]) if len(cudnn) == 1 else None,
        "requires": pins,
    }
    listed = parse_architectures(library)
    if listed is not None:
        told["sass"] = tuple(name for name in listed if name.startswith("sm_"))
        told["ptx"] = tuple(name for name in listed if name.startswith("compute_"))
    return told


def read(wheel: zipfile.ZipFile) -> dict[str, Any]:
    """The fields that one wheel tells."""
    version_py, metadata = member(wheel, "torch/version.py"), member(wheel, ".dist-info/METADATA")
    library = member(wheel, "torch/lib/libtorch_python.so")
    if version_py is None or metadata is None or library is None:
        raise ValueError("the wheel has no torch/version.py, METADATA or libtorch_python.so")
    return facts_of(parse_version_py(version_py.decode()), metadata.decode(), library)


if __name__ == "__main__":
    sys.exit(refresh(TORCH, ("torch",), wanted, read))
