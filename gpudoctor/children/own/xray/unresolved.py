"""The functions that loaded files need of a CUDA library and that the one in the process lacks: the loader refuses such a file when it binds them."""

from __future__ import annotations

from typing import Any

from gpudoctor.children.own.xray.components import component
from gpudoctor.children.own.xray.patient import Around
from gpudoctor.elf import symbols
from gpudoctor.elf.loader import LoadedObject

_FUNCTION_PREFIXES = {
    "cudart": ("cuda", "__cuda"),
    "cublas": ("cublas",),
    "cublaslt": ("cublasLt",),
    "cufft": ("cufft",),
    "curand": ("curand",),
    "cusolver": ("cusolver",),
    "cusparse": ("cusparse",),
    "cusparselt": ("cusparseLt",),
    "nccl": ("nccl",),
    "nvrtc": ("nvrtc",),
    "nvjitlink": ("nvJitLink", "__nvJitLink"),
    "cupti": ("cupti",),
    "cufile": ("cuFile",),
    "nvshmem": ("nvshmem",),
}
"""How a library's functions begin. cuDNN's parts call one another's, and its version is compared with the build's."""


def unresolved(around: Around, objects: list[LoadedObject]) -> list[dict[str, Any]]:
    """One function for each file and each library that it links; nothing where a library's table of symbols cannot be read."""
    libraries = {part: library for library in objects if (part := component(library.name) or "") in _FUNCTION_PREFIXES}
    if not all(symbols.can_find_symbols(library.elf) for library in libraries.values()):
        return []
    found = []
    for needing in objects:
        linked = [part for name in needing.elf.needed if (part := component(name) or "") in libraries]
        try:
            lacking = _missing_functions(around, needing, libraries, linked) if linked else []
        except OSError:
            continue
        for part in linked:
            name = next((name for name in lacking if _component_of_function(name) == part), "")
            if name:
                library = libraries[part].path
                owner = " or ".join(around.disk.owners(library, part))
                found.append({"type": "unresolved-symbol", "symbol": name, "needed_by": needing.path, "library": library, "owner": owner})
    return found


def _component_of_function(function: str) -> str:
    """The library that defines a function, by its longest known beginning: cublasLtCreate is not of cublas."""
    begun = [
        (len(beginning), part)
        for part, beginnings in _FUNCTION_PREFIXES.items()
        for beginning in beginnings
        if function.startswith(beginning)
    ]
    return max(begun)[1]


def _missing_functions(around: Around, needing: LoadedObject, libraries: dict[str, LoadedObject], linked: list[str]) -> list[str]:
    """The functions of the linked libraries that none of the loaded ones defines."""
    beginnings = tuple(beginning for part in linked for beginning in _FUNCTION_PREFIXES[part])
    left = {name for name in symbols.undefined_symbols(around.system.place(needing.path), needing.elf) if name.startswith(beginnings)}
    for part, library in libraries.items():  # first each in its own library, then those left in the others
        left -= _defined_functions(around, library, {name for name in left if _component_of_function(name) == part})
    for library in libraries.values():
        left -= _defined_functions(around, library, left)
    return sorted(left)


def _defined_functions(around: Around, library: LoadedObject, names: set[str]) -> set[str]:
    return symbols.defined_symbols(around.system.place(library.path), library.elf, names) if names else set()
