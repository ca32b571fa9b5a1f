"""The files of the CUDA driver library: in the usual folders of drivers, toolkits and images, and in the loader's."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping

from gpudoctor.elf.file import MACHINES
from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, CudaFile, CudaFiles, Fact, KernelDriver, Missing, printable_text

USUAL_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/i386-linux-gnu",
    "/usr/lib32",
    "/usr/lib/wsl/lib",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/local/nvidia/lib64",  # where NVIDIA's and GKE's images expect the host's driver
    "/usr/local/nvidia/lib",
    "/run/opengl-driver/lib",  # NixOS
    "/usr/local/cuda/compat",
    "/usr/local/cuda/lib64/stubs",
)
"""Searched in addition to the loader's folders."""
PTX_COMPILER = "libnvidia-ptxjitcompiler.so.1"
HEADER_BYTES = 20
"""Bytes of an ELF file through e_machine."""


def cuda_files(root: str, environ: Mapping[str, str], kernel_driver: KernelDriver | Missing) -> CudaFiles:
    """The files below `root`; for a loaded driver also the library that lacks its usual link."""
    told = tuple(dict.fromkeys([*_library_path_folders(environ), *_configured_folders(root)]))
    version = kernel_driver.version if isinstance(kernel_driver, KernelDriver) else kernel_driver
    names = ("libcuda.so.1", "libcuda.so", *((f"libcuda.so.{version.value}",) if isinstance(version, Fact) else ()))
    folders = tuple(dict.fromkeys((*told, *USUAL_FOLDERS)))
    return CudaFiles(
        libcuda=tuple(_first_files(root, folders, names)),
        ptx_compiler=tuple(_first_files(root, folders, (PTX_COMPILER,))),
        loader_folders=tuple(printable_text(folder) for folder in told),
    )


def _library_path_folders(environ: Mapping[str, str]) -> Iterator[str]:
    for folder in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if os.path.isabs(folder):
            yield os.path.normpath(folder)


def _configured_folders(root: str) -> Iterator[str]:
    """The folders in /etc/ld.so.conf and its includes, usually every file of ld.so.conf.d."""
    parts = files.entries_or_empty("/etc/ld.so.conf.d", root)
    names = [f"/etc/ld.so.conf.d/{name}" for name in parts if name.endswith(".conf")]
    for path in (*names, "/etc/ld.so.conf"):
        for line in files.lines_or_empty(path, root):
            folder = line.partition("#")[0].strip()
            if os.path.isabs(folder):
                yield os.path.normpath(folder)


def _first_files(root: str, folders: tuple[str, ...], names: tuple[str, ...]) -> Iterator[CudaFile]:
    """The first of `names` that exists in each folder."""
    for folder in folders:
        found = (file for name in names if (file := _cuda_file(root, os.path.join(folder, name))) is not None)
        yield from list(found)[:1]


def _cuda_file(root: str, path: str) -> CudaFile | None:
    place = files.path_in_tree(root, path)
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        reason = files.missing_file(path, error)
        return CudaFile(printable_text(path), real=reason, bits=reason, machine=reason)
    try:
        head = os.read(descriptor, HEADER_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        head = b""
    finally:
        os.close(descriptor)
    bits, machine = _elf_class_and_machine(head, path)
    top = os.path.realpath(root).rstrip("/")
    return CudaFile(printable_text(path), real=printable_text(os.path.realpath(place).removeprefix(top)), bits=bits, machine=machine)


def _elf_class_and_machine(head: bytes, path: str) -> tuple[int | Missing, str | Missing]:
    """Class and machine of an ELF header."""
    if len(head) < HEADER_BYTES or head[:4] != b"\x7fELF" or head[4] not in {1, 2}:
        none = Missing(Cause.ABSENT, f"{printable_text(path)} is not an ELF file")
        return none, none
    number = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
    return 32 * head[4], MACHINES.get(number, f"machine {number}")
