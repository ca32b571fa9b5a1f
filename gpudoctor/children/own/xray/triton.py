"""The assembler that Triton starts for torch.compile: the one in a variable, otherwise its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.children.own.xray.patient import Around, missing
from gpudoctor.children.own.xray.xla import assembler

COMPONENT = "triton-ptxas"
PLACES = ("triton/backends/nvidia/bin", "triton/common/../third_party/cuda/bin", "triton/third_party/cuda/bin")
"""Since 3.0, in 2.1 to 2.3, and in 2.0."""
PROGRAMS = (("ptxas", "TRITON_PTXAS_PATH"), ("ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH"))
"""Each with the variable that overrides it; the second is for compute capability 10.0 and newer, in releases that have it."""


def uses(around: Around, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """What torch.compile would start; nothing if Triton is not installed."""
    disk = around.disk
    folders = (f"{site}/{place}" for site in disk.path for place in PLACES)
    own = next((folder for folder in folders if disk.exists(f"{folder}/ptxas")), "")
    if not own:
        return []
    return [_assembler_use(around, own, name, variable, environ) for name, variable in PROGRAMS if disk.exists(f"{own}/{name}")]


def _assembler_use(around: Around, own: str, name: str, variable: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """A variable that names no program is ignored, as Triton does."""
    told = environ.get(variable, "")
    named = told.startswith("/") and around.disk.exists(told)
    path, why = (told, variable) if named else (f"{own}/{name}", "Triton's own")
    try:
        file = assembler(around, path)
    except OSError as error:
        file = missing("failed", f"{path}: {error}")
    return {
        "type": "library-use", "component": COMPONENT, "wanted": name, "asked_by": f"{own.partition('/triton/')[0]}/triton", "asking": "started",
        "vital": False, "file": file, "why": why, "shadows": [], "refused": [], "elsewhere": [],
        "found_by": "variable" if named else "other",
    }  # fmt: skip
