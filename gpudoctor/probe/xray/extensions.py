"""Compiled add-ons of a framework: their GPU code, and which of CUDA's libraries they link."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.addons import EXTENSIONS
from gpudoctor.elf import symbols
from gpudoctor.elf.file import Elf
from gpudoctor.elf.system import Refused
from gpudoctor.probe.xray.components import component
from gpudoctor.probe.xray.patient import Around, missing

BESIDE = {
    "flash-attn": ("flash_attn_",),
    "flash-attn-3": ("flash_attn_",),
    "apex": ("amp_C", "apex_C", "fused_layer_norm_cuda", "syncbn"),
    "causal-conv1d": ("causal_conv1d_cuda",),
    "mamba-ssm": ("selective_scan_cuda",),
    "transformer-engine-torch": ("transformer_engine_torch",),
    "auto-gptq": ("autogptq_cuda", "exllama"),
    "autoawq-kernels": ("awq_", "exl"),
    "exllamav2": ("exllamav2_ext",),
}
"""How such files are called."""
OF_TORCH = (
    "_ZN2at",
    "_ZNK2at",
    "_ZN3c10",
    "_ZNK3c10",
    "_ZN5torch",
    "_ZNK5torch",
    "_ZTIN3c10",
    "_ZTVN3c10",
    "_ZTVN5torch",
    "aoti_torch_",
    "torch_",
)
"""How the names of its functions begin: at::, c10::, torch::, and the stable interface's."""
MOST_FILES = 24
MOST_NAMES = 20


def extensions(around: Around, cuda: dict[str, str], homes: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Every compiled file of the known add-ons that has GPU code or links CUDA's libraries.

    `cuda` is the CUDA of each framework and `homes` the folder of its package, by name.
    """
    disk = around.disk
    for site in disk.path:
        for entry in sorted(disk.names(site)):
            if not entry.endswith(".dist-info"):
                continue
            name, _, version = entry[: -len(".dist-info")].rpartition("-")
            name = name.replace("_", "-").replace(".", "-").lower()
            if name in EXTENSIONS:
                folder, framework = EXTENSIONS[name]
                for path in _files(around, site, name, folder, cuda.get(framework, "")):
                    found = _extension(around, path, homes.get(framework, ""))
                    if found is not None:
                        yield {"type": "extension", "distribution": name, "version": version, "framework": framework, "path": path, **found}


def _files(around: Around, site: str, name: str, folder: str, cuda: str) -> list[str]:
    disk = around.disk
    if not folder:
        return [f"{site}/{one}" for one in sorted(disk.names(site)) if one.endswith(".so") and one.startswith(BESIDE.get(name, ()))][
            :MOST_FILES
        ]
    if name == "bitsandbytes":  # it brings one for each CUDA and takes that of torch's
        digits = "".join(cuda.split(".")[:2])
        return [f"{site}/{folder}/libbitsandbytes_cuda{digits}.so"] if digits else []
    places = [f"{site}/{folder}", f"{site}/{folder}/lib"]
    return [f"{place}/{one}" for place in places for one in sorted(disk.names(place)) if one.endswith(".so")][:MOST_FILES]


def _extension(around: Around, path: str, home: str) -> dict[str, Any] | None:
    try:
        elf = around.system.elf(path)
    except Refused:
        return None
    if elf is None:
        return None
    wanted = [name for name in elf.needed if component(name) is not None]
    if not wanted and not elf.sections:
        return None
    return {"code": around.code(path), "wanted": wanted, "undefined": _undefined(around, path, elf, home)}


def _undefined(around: Around, path: str, elf: Elf, home: str) -> Any:
    """The symbols in torch's own name spaces that none of the framework's libraries, linked or not, defines."""
    libraries = [
        name for name in around.disk.names(f"{home}/lib") if name.startswith(("libtorch", "libc10", "libshm")) and name.endswith(".so")
    ]
    if not libraries:
        return missing("not-asked", "only symbols of torch are compared")
    try:
        left = {name for name in symbols.undefined(around.system.place(path), elf) if name.startswith(OF_TORCH)}
        for name in sorted(libraries):
            library = around.system.elf(f"{home}/lib/{name}")
            if left and library is not None:
                left -= symbols.defined(around.system.place(library.path), library, left)
    except (OSError, Refused) as error:
        return missing("failed", str(error))
    return sorted(left)[:MOST_NAMES]
