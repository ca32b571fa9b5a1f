"""What XLA needs to compile: libdevice.10.bc and ptxas, searched in its own order (tsl's cuda_root_path.cc, XLA's subprocess_compilation.cc)."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import Any

from gpudoctor.children.own.xray.disk import TOOLKITS, Disk
from gpudoctor.children.own.xray.patient import Around, missing, nearby, places

FLAG = "--xla_gpu_cuda_data_dir="
LIBDEVICE = "nvvm/libdevice/libdevice.10.bc"
_RELEASE_MARK = b"Cuda compilation tools, release "


def uses(around: Around, library: str, environ: Mapping[str, str], first: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Both, as XLA in `library` would find them; `first` are the framework's preferred folders."""
    named = [word[len(FLAG) :].strip("'\"") for word in environ.get("XLA_FLAGS", "").split() if word.startswith(FLAG)]
    told = named[-1] if named else ""  # each occurrence of a flag replaces the one before
    preferred = [(told, f"{FLAG[:-1]} in XLA_FLAGS")] if told else [(root, "the framework names its folder") for root in first]
    roots = [(root, "a folder in XLA's own list") for root in _cuda_roots(os.path.normpath(os.path.dirname(library)))]
    search = [(folder.rstrip("/"), "PATH") for folder in environ.get("PATH", os.defpath).split(":")]
    data = [(f"{root}/{LIBDEVICE}", why) for root, why in (*preferred, *roots)]
    programs = [(f"{root}/bin/ptxas", why) for root, why in preferred]
    programs += [(f"{folder}/ptxas", why) for folder, why in search]
    programs += [(f"{root}/bin/ptxas", why) for root, why in roots]
    return [
        _library_use(around, ("libdevice", "libdevice.10.bc", "read"), library, data),
        _library_use(around, ("ptxas", "ptxas", "started"), library, programs),
    ]


def preferred(disk: Disk, folders: tuple[str, ...]) -> tuple[str, ...]:
    """The first of the folders of site-packages with NVIDIA's compiler; the framework passes it to XLA."""
    candidates = [f"{site}/{folder}" for site in disk.path for folder in folders]
    return tuple(root for root in candidates if disk.exists(f"{root}/nvvm") or disk.exists(f"{root}/bin/ptxas"))[:1]


def _cuda_roots(folder: str) -> tuple[str, ...]:
    """CandidateCudaRoots of a library in `folder`; the build machine's toolkit is unknown."""
    beside = ("../nvidia/cuda_nvcc", "../../nvidia/cuda_nvcc", "cuda", "../../../..", "../../../../..")
    return ("/usr/local/cuda", "/opt/cuda", *(os.path.normpath(f"{folder}/{one}") for one in beside))


def _library_use(around: Around, kind: tuple[str, str, str], library: str, candidates: list[tuple[str, str]]) -> dict[str, Any]:
    disk = around.disk
    part, wanted, asking = kind
    whys = {path: why for path, why in reversed(candidates) if path.startswith("/")}
    order = [path for path, _ in candidates if path in whys]
    there = [path for path in dict.fromkeys(order) if disk.exists(path)]
    said: dict[str, Any] = {
        "type": "library-use",
        "component": part,
        "wanted": wanted,
        "asked_by": library,
        "asking": asking,
        "vital": False,
        "shadows": places((path, whys[path], "") for path in there[1:]),
        "refused": [],
        "elsewhere": nearby(_other_places(disk, part, there)),
    }
    if there:
        return {**said, "file": _described_file(around, part, there[0]), "why": whys[there[0]]}
    reason = f"{wanted} is in none of the searched places"
    return {**said, "file": missing("absent", reason), "looked_in": [os.path.dirname(path) for path in dict.fromkeys(order)]}


def _described_file(around: Around, part: str, path: str) -> dict[str, Any]:
    return assembler(around, path) if part == "ptxas" else around.described(path, "", part)


def assembler(around: Around, path: str) -> dict[str, Any]:
    """The LibraryFile of a ptxas, with its version from its wheel, toolkit or own text."""
    part = "ptxas"
    said = around.described(path, "", part)
    if said["version"]["type"] == "missing":
        program = _started_program(around, path)
        version = around.disk.version(program, part, "")
        release = "" if isinstance(version, tuple) else _ptxas_release(around.system.place(program))
        if isinstance(version, tuple):
            said["version"] = {"type": "fact", "value": version[0], "where": version[1]}
        elif release:
            said["version"] = {"type": "fact", "value": release, "where": f"the text in {program}"}
    return said


def _started_program(around: Around, path: str) -> str:
    """The program that a wrapper script starts."""
    text = around.disk.text(path, 512)
    return (
        next((word for word in text.split() if word.startswith("/") and word.endswith("/ptxas")), path) if text.startswith("#!") else path
    )


def _ptxas_release(path: str) -> str:
    """The version that the program would print; it is not run."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as mapped:
            place = mapped.find(_RELEASE_MARK)
            if place < 0:
                return ""
            text = mapped[place + len(_RELEASE_MARK) : place + len(_RELEASE_MARK) + 32].decode("ascii", "replace")
    except (OSError, ValueError):
        return ""
    finally:
        os.close(descriptor)
    exact = text.partition("V")[2].partition("\n")[0].partition("\0")[0].strip()
    return exact if exact.replace(".", "").isdecimal() else text.partition(",")[0]


def _other_places(disk: Disk, part: str, taken: list[str]) -> list[tuple[str, str]]:
    inside = LIBDEVICE if part == "libdevice" else "bin/ptxas"
    found = [(f"{site}/nvidia/{name}/{inside}", "wheel") for site in disk.path for name in disk.names(f"{site}/nvidia")]
    if part == "ptxas":
        found += [(f"{site}/triton/backends/nvidia/bin/ptxas", "triton's own") for site in disk.path]
    for place in TOOLKITS:
        found += [(f"{place}/{name}/{inside}", "toolkit") for name in disk.names(place) if name.startswith("cuda")]
    seen = {disk.real(path) for path in taken}
    return [(path, why) for path, why in found if disk.exists(path) and disk.real(path) not in seen]
