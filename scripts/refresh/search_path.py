"""Finds out which required NVIDIA packages a wheel finds through its own search path."""

from __future__ import annotations

import posixpath
import re
import shutil
import tempfile
from collections.abc import Iterable
from typing import IO

from packaging.requirements import Requirement

from gpudoctor.elf import file
from scripts.refresh.common import Wheel

_NEEDED = re.compile(r"(.*)/lib(?:cudart|cublas|cublasLt|cufft|cusolver|cusparse|cudnn)\.so\.\d+")
"""What TensorFlow opens before it registers a GPU since CUDA 11.8 (tsl/platform/default/dlopen_checker.cc); all are required.

CUPTI and NCCL, which it opens later, do not count.
"""


def search_path(library: IO[bytes]) -> str:
    """Return a library's RUNPATH or RPATH; empty if it has neither. Raises ValueError if it is no ELF file."""
    with tempfile.NamedTemporaryFile() as copy:
        shutil.copyfileobj(library, copy, 1 << 20)
        copy.flush()
        try:
            found = file.read_elf_file(copy.name)
        except file.NotElf as problem:
            raise ValueError(problem.reason) from None
    return found.runpath or found.rpath


def folders(path: str, home: str) -> frozenset[str]:
    """Return the folders of site-packages in the search path of a library in the folder `home` ("tensorflow"): "nvidia/cublas/lib"."""
    places = (posixpath.normpath(entry.replace("$ORIGIN", home, 1)) for entry in path.split(":") if entry.startswith("$ORIGIN"))
    return frozenset(place for place in places if not place.startswith(".."))


def held(names: Iterable[str]) -> list[str]:
    """Return the folders of a package with needed libraries, from the members of its wheel."""
    return sorted({match[1] for match in map(_NEEDED.fullmatch, names) if match})


def unreachable(wheel: Wheel, required: Iterable[str], opener: str) -> tuple[str, ...] | None:
    """Return the NVIDIA packages in `required` whose libraries `opener`, a library of the wheel, must open but cannot find.

    None if it requires no such package or has no such library. Raises ValueError if a required package has no wheel.
    """
    packages = [Requirement(text) for text in required if re.match(r"nvidia-[\w-]+-cu\d+[^\w-]", text)]
    path = wheel.learn_of(opener, "search path", search_path) if packages else None
    if path is None:
        return None
    reached = folders(path, posixpath.dirname(opener).lstrip("/"))
    return tuple(sorted({package.name for package in packages if not reached.issuperset(_folders_of(wheel.required(package)))}))


def _folders_of(package: Wheel) -> list[str]:
    found: list[str] = package.learn("folders of the libraries that TensorFlow needs", lambda: held(package.zip.namelist()))
    return found
