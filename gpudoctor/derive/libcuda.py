"""Identifies a libcuda (the driver's, a toolkit's stub or a cuda-compat package's) and the call of our kernel that failed."""

from __future__ import annotations

import re

from gpudoctor import versions
from gpudoctor.snapshot import CudaCall, CudaContext, CudaFile, CudaFiles, Libcuda, Missing, Python
from gpudoctor.versions import Version

_RELEASE_IN_NAME = r"\.so\.(\d{3,4}\.\d+(?:\.\d+)?)$"
_COMPAT_PATH = r"/(?:compat|cuda-compat)(?:[/_-][^/]*)*/|/cuda-compat[^/]*$"


def is_stub(path: str) -> bool:
    """Whether a file is a toolkit's stub, which is for linking only."""
    return "/stubs/" in path


def is_compat(path: str) -> bool:
    """Whether a file is from a cuda-compat package, which runs a newer CUDA on an older kernel driver."""
    return re.search(_COMPAT_PATH, path) is not None


def release_in_name(path: str | Missing) -> Version | None:
    """The driver version at the end of a library's file name."""
    match = re.search(_RELEASE_IN_NAME, path) if isinstance(path, str) else None
    return versions.parse_version(match[1]) if match else None


def init_code(libcuda: Libcuda | Missing) -> int:
    """cuInit's error code; 0 if it succeeded or did not answer."""
    if isinstance(libcuda, Missing) or isinstance(libcuda.init, Missing):
        return 0
    return libcuda.init.code


def loaded_path(libcuda: Libcuda | Missing) -> str:
    """The loaded file; empty if none was, or it is unknown."""
    return libcuda.library if isinstance(libcuda, Libcuda) and isinstance(libcuda.library, str) else ""


def is_loadable(file: CudaFile, python: Python | Missing) -> bool | None:
    """Whether the target interpreter's processes can load a file, by its ELF class and machine; None if unknown."""
    if isinstance(python, Missing) or isinstance(file.bits, Missing) or isinstance(file.machine, Missing):
        return None
    if isinstance(python.bits, int) and file.bits != python.bits:
        return False
    return file.machine == python.machine if isinstance(python.machine, str) else None


def libcuda_of_driver(files: CudaFiles) -> list[CudaFile]:
    """The files of libcuda that belong to an installed driver."""
    named = [(file, file.real if isinstance(file.real, str) else file.path) for file in files.libcuda]
    return [file for file, real in named if not is_stub(real) and not is_compat(real)]


def failed_call(context: CudaContext) -> CudaCall | None:
    """The first call that failed."""
    return next((call for call in context.calls if call.status.code), None)
