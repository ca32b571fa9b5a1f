"""Rebuilds compat/tensorflow.csv from what the published wheels of TensorFlow say of themselves."""

from __future__ import annotations

import ast
import re
import sys
import zipfile
from typing import Any

from refresh_common import member, nvidia_pins, refresh

from gpudoctor import versions
from gpudoctor.matrix.tables import TENSORFLOW
from gpudoctor.versions import Version

PROJECTS = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu")
_OLD = {(1, 14), (1, 15)}
"""Releases from before 2023 that environments with Python 3.6 still hold."""


def wanted(release: Version) -> bool:
    """Whether the table holds this release."""
    return release[:2] in _OLD or release[:2] >= (2, 12)


def parse_build_info(text: str) -> dict[str, Any]:
    """The facts in build_info.py: the dictionary `build_info`, or in old releases one variable a fact; nothing in it is run."""
    facts: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = statement.value
            literal = ast.literal_eval(value.args[0] if isinstance(value, ast.Call) and value.args else value)
            facts.update(dict(literal) if statement.targets[0].id == "build_info" else {statement.targets[0].id: literal})
    return facts


def cuda_of(build_info: dict[str, Any]) -> str:
    """The CUDA that build_info.py names: "12.5.1", in old releases "10"; "" where it names none."""
    return str(build_info.get("cuda_version") or build_info.get("cuda_version_number") or "")


def facts_of(build_info: dict[str, Any], metadata: str, framework_library: bytes) -> dict[str, Any]:
    """The fields of the row that a wheel tells.

    TensorFlow lists "sm_80" for machine code alone and "compute_90" for both machine code and PTX, as the fat binaries of 2.21.0
    show. Old releases name only the major CUDA there; the version they open libcudart with stands beside its name in the library.
    """
    if "is_cuda_build" not in build_info:
        raise ValueError("build_info.py does not say whether this is a CUDA build")
    if not build_info["is_cuda_build"]:
        return {"accelerator": "cpu", "requires": ()}
    cuda = cuda_of(build_info)
    if "." not in cuda:
        opened = set(re.findall(rb"\0(\d+\.\d+)\0cudart\0", framework_library))
        cuda = opened.pop().decode() if len(opened) == 1 else ""
    told = {
        "accelerator": "cuda",
        "built_with_cuda": versions.parse(cuda),
        "cudnn": versions.parse(build_info.get("cudnn_version") or build_info.get("cudnn_version_number") or ""),
        "requires": nvidia_pins(metadata, "and-cuda"),
    }
    listed = build_info.get("cuda_compute_capabilities")
    if listed:
        told["sass"] = tuple(name.replace("compute_", "sm_") for name in listed)
        told["ptx"] = tuple(name for name in listed if name.startswith("compute_"))
    return told


def read(wheel: zipfile.ZipFile) -> dict[str, Any]:
    """The fields that one wheel tells."""
    info, metadata = member(wheel, "/python/platform/build_info.py"), member(wheel, ".dist-info/METADATA")
    if info is None or metadata is None:
        raise ValueError("the wheel has no build_info.py or no METADATA")
    facts = parse_build_info(info.decode())
    vague = facts.get("is_cuda_build") and "." not in cuda_of(facts)
    return facts_of(facts, metadata.decode(), (member(wheel, "/libtensorflow_framework.so.1") or b"") if vague else b"")


if __name__ == "__main__":
    sys.exit(refresh(TENSORFLOW, PROJECTS, wanted, read))
