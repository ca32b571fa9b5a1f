"""Files of libcuda on disk, and what the loader makes of them."""

from __future__ import annotations

import msgspec

from gpudoctor.snapshot import Cause, CudaFile, CudaFiles, Libcuda, Missing, Python
from tests.builders import libcuda

NOT_FOUND = Missing(Cause.ABSENT, "libcuda.so.1: cannot open shared object file: No such file or directory")
PYTHON = Python("/env/bin/python", "active", version="3.12.1", bits=64, machine="x86_64")


def on_disk(*files: CudaFile) -> CudaFiles:
    """These files of libcuda, and no PTX compiler."""
    return CudaFiles(files, ())


def own(path: str = "/opt/driver/libcuda.so.1", bits: int = 64, architecture: str = "x86_64") -> CudaFile:
    """A driver's libcuda."""
    return CudaFile(path, real=path, bits=bits, machine=architecture)


def loaded(code: int, path: str) -> Libcuda:
    """A libcuda whose cuInit answers `code`."""
    return msgspec.structs.replace(libcuda(1, code, f"CUDA_ERROR_{code}"), library=path)
