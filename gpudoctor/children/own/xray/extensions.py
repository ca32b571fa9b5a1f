"""Compiled add-ons of a framework: their GPU code, and the CUDA libraries they link."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.children.own.xray.components import component
from gpudoctor.children.own.xray.patient import Around, missing
from gpudoctor.elf import symbols
from gpudoctor.elf.file import Elf
from gpudoctor.elf.system import CannotLoad
from gpudoctor.frameworks import ADDONS, Addon, spec_of

MOST_FILES = 24
MOST_NAMES = 20


def extensions(around: Around, cuda: dict[str, str], homes: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Every compiled file of the known add-ons that has GPU code or links CUDA libraries.

    `cuda` is the CUDA version of each framework and `homes` its package's folder, by name.
    """
    disk = around.disk
    for site in disk.path:
        for entry in sorted(disk.names(site)):
            if not entry.endswith(".dist-info"):
                continue
            name, _, version = entry[: -len(".dist-info")].rpartition("-")
            name = name.replace("_", "-").replace(".", "-").lower()
            if name in ADDONS:
                framework, addon = ADDONS[name]
                for path in _extension_files(around, site, name, addon, cuda.get(framework, "")):
                    found = _examined_extension(around, path, framework, homes.get(framework, ""))
                    if found is not None:
                        yield {"type": "extension", "distribution": name, "version": version, "framework": framework, "path": path, **found}


def _extension_files(around: Around, site: str, name: str, addon: Addon, cuda: str) -> list[str]:
    disk, folder = around.disk, addon.folder
    if not folder:
        beside = [one for one in sorted(disk.names(site)) if one.endswith(".so") and one.startswith(addon.files)]
        return [f"{site}/{one}" for one in beside][:MOST_FILES]
    if name == "bitsandbytes":  # it has one for each CUDA and uses torch's
        digits = "".join(cuda.split(".")[:2])
        return [f"{site}/{folder}/libbitsandbytes_cuda{digits}.so"] if digits else []
    places = [f"{site}/{folder}", f"{site}/{folder}/lib"]
    return [f"{place}/{one}" for place in places for one in sorted(disk.names(place)) if one.endswith(".so")][:MOST_FILES]


def _examined_extension(around: Around, path: str, framework: str, home: str) -> dict[str, Any] | None:
    try:
        elf = around.system.elf(path)
    except CannotLoad:
        return None
    if elf is None:
        return None
    wanted = [name for name in elf.needed if component(name) is not None]
    if not wanted and not elf.sections:
        return None
    return {"code": around.code(path), "wanted": wanted, "undefined": _undefined_symbols(around, path, elf, framework, home)}


def _undefined_symbols(around: Around, path: str, elf: Elf, framework: str, home: str) -> Any:
    """The symbols in the framework's own name spaces that none of its libraries defines, linked or not."""
    spec = spec_of(framework)
    libraries = [name for name in around.disk.names(f"{home}/lib") if name.startswith(spec.own_libraries) and name.endswith(".so")]
    if not libraries:
        return missing("not-asked", f"symbols of {framework} are not checked")
    try:
        left = {name for name in symbols.undefined_symbols(around.system.place(path), elf) if name.startswith(spec.own_symbols)}
        for name in sorted(libraries):
            library = around.system.elf(f"{home}/lib/{name}")
            if left and library is not None:
                left -= symbols.defined_symbols(around.system.place(library.path), library, left)
    except (OSError, CannotLoad) as error:
        return missing("failed", str(error))
    return sorted(left)[:MOST_NAMES]
