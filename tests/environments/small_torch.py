"""A small PyTorch that really imports: the published code of torch/__init__.py that loads its libraries, over empty ELF files.

torch_text/ has those functions from the wheels of these releases (BSD-3-Clause); a release between two uses the earlier one's.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpudoctor.children.own.xray.components import component, cudnn_parts
from gpudoctor.elf import file as elf_file
from gpudoctor.snapshot import FrameworkLibraries, LibraryFile, LibraryUse, Missing, printable_text
from tests.machines.elf_library import Library

TEXTS = {
    path.stem: path
    for path in sorted(Path(__file__).parent.glob("torch_text/*.txt"), key=lambda path: [int(part) for part in path.stem.split(".")])
}
HEAD = "import builtins\nimport ctypes\nimport glob\nimport importlib\nimport importlib.util\nimport os\nimport platform\nimport sys\nfrom typing import Dict\n_Dict = Dict\n\n"
FOOT = '\n_load_global_deps()\nctypes.CDLL(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "_C.*.so"))[0])\n'
NEEDS = {
    "cuda_runtime": ("libcudart.so.12", ()),
    "cublas": ("libcublas.so.12", ("libcublasLt.so.12",)),
    "cudnn": ("libcudnn.so.9", ()),
    "cuda_nvrtc": ("libnvrtc.so.12", ()),
    "cuda_cupti": ("libcupti.so.12", ()),
    "cufft": ("libcufft.so.11", ()),
    "curand": ("libcurand.so.10", ()),
    "nvjitlink": ("libnvJitLink.so.12", ()),
    "cusparse": ("libcusparse.so.12", ("libnvJitLink.so.12",)),
    "cusparselt": ("libcusparseLt.so.0", ()),
    "cusolver": ("libcusolver.so.11", ("libcublas.so.12", "libcusparse.so.12", "libnvJitLink.so.12")),
    "nccl": ("libnccl.so.2", ()),
    "nvshmem": ("libnvshmem_host.so.3", ()),
    "cufile": ("libcufile.so.0", ()),
    "nvtx": ("libnvToolsExt.so.1", ()),
}  # fmt: skip
"""Folder of nvidia/, its library, and the library's needs."""
VERSIONS = {"cudnn": "9.1.0.70", "nccl": "2.21.5"}
LINKED = tuple(name for name, _ in NEEDS.values() if "nvshmem" not in name and "cufile" not in name)
WITNESS = """
import json, sys
try:
    import torch
    error = ""
except BaseException as raised:
    error = type(raised).__name__ + ": " + str(raised)
paths = [line.rstrip("\\n").split(None, 5)[5] for line in open("/proc/self/maps", errors="surrogateescape") if ".so" in line and "/" in line]
json.dump([error, [path.encode("utf-8", "surrogateescape").hex() for path in dict.fromkeys(paths)]], sys.stdout)
"""


def cuda(site: Path, *without: str) -> None:
    """NVIDIA's packages, each with its metadata."""
    for folder, (name, needs) in NEEDS.items():
        if folder in without:
            continue
        Library(name, needs, rpath="$ORIGIN").put(site / f"nvidia/{folder}/lib/{name}")
        metadata = site / f"nvidia_{folder}_cu12-{VERSIONS.get(folder, '12.4.1')}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("")
        files = sorted((site / f"nvidia/{folder}/lib").iterdir())
        (metadata / "RECORD").write_text("".join(f"nvidia/{folder}/lib/{file.name},sha256=0,{file.stat().st_size}\n" for file in files))
    if "cublas" not in without:
        Library("libcublasLt.so.12", rpath="$ORIGIN").put(site / "nvidia/cublas/lib/libcublasLt.so.12")
    for name in cudnn_parts("9") if "cudnn" not in without else ():
        Library(name, rpath="$ORIGIN").put(site / f"nvidia/cudnn/lib/{name}")


def torch(site: Path, release: str = "2.6.0", *, finds: bool = True, quote: str = "") -> Path:
    """PyTorch for CUDA 12.4; with `finds` its files point to NVIDIA's folders, like those on the index, otherwise like other builds."""
    home = site / "torch"
    folders = ":".join(["$ORIGIN", *(f"$ORIGIN/../../nvidia/{folder}/lib" for folder in NEEDS)])
    rpath = folders if finds else "$ORIGIN"
    Library("libtorch_global_deps.so", ("libcudart.so.12", "libcublas.so.12", "libnvToolsExt.so.1"), rpath=rpath).put(
        home / "lib/libtorch_global_deps.so"
    )
    Library("libtorch_cuda.so", LINKED, rpath=rpath).put(home / "lib/libtorch_cuda.so")
    Library(needs=("libtorch_cuda.so",), rpath="$ORIGIN/lib").put(home / "_C.cpython-311-x86_64-linux-gnu.so")
    text = TEXTS[release].read_text()
    (home / "__init__.py").write_text(HEAD + (text.replace('"', quote) if quote and '"""' not in text else text) + FOOT)
    (home / "version.py").write_text(f"__version__ = '{release}+cu124'\ncuda = '12.4'\nhip = None\n")
    metadata = site / f"torch-{release}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {release}\n")
    return home


def really(python: Path | str, environ: Mapping[str, str], cwd: Path | None = None) -> tuple[str, set[str]]:
    """The error of a real import, empty if it works, and every file then mapped."""
    done = subprocess.run([str(python), "-B", "-c", WITNESS], env=dict(environ), capture_output=True, check=False, cwd=cwd or "/")
    if not done.stdout:
        return f"ended with {done.returncode}", set()
    error, paths = json.loads(done.stdout)
    return error, {os.fsdecode(bytes.fromhex(path)) for path in paths}


def differences(seen: FrameworkLibraries, error: str, mapped: Iterable[str]) -> list[str]:
    """How the X-ray differs from a real import: in the error, or in a library's file."""
    assert isinstance(seen.uses, tuple), seen.uses
    uses = [use for use in seen.uses if use.component != "cuda" and (use.asking == "linked" or use.asked_by.endswith("__init__.py"))]
    fails = bool(seen.broken) or any(use.vital and isinstance(use.file, Missing) for use in uses)
    found = [f"the import says {error or 'nothing'!r}, the X-ray {_lacking(uses, seen)}"] if fails is not bool(error) else []
    if error:
        return found
    real: dict[str, set[str]] = {}
    for path in mapped:
        if (name := _soname(path)) and component(name):
            real.setdefault(name, set()).add(printable_text(os.path.realpath(path)))
    for use in uses:
        taken = str(use.file.real) if isinstance(use.file, LibraryFile) else ""
        others = real.pop(use.wanted, set())
        if taken not in others:
            found.append(f"{use.wanted}: {taken} expected, {others} mapped")
    also = {os.path.realpath(path) for path in seen.also_loaded}
    found += [f"{name}: not foreseen, and mapped from {paths}" for name, paths in real.items() if not paths <= also]
    return found


def _lacking(uses: list[LibraryUse], seen: FrameworkLibraries) -> Any:
    return [use.wanted for use in uses if isinstance(use.file, Missing)] + [damage.path for damage in seen.broken] or "nothing"


def _soname(path: str) -> str:
    try:
        return elf_file.read_elf_file(path).soname or Path(path).name
    except (OSError, elf_file.NotElf):
        return Path(path).name
