"""Rebuilds compat/jax.csv from the published wheels of JAX, its library and its CUDA plugins."""

from __future__ import annotations

import itertools
import re
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpudoctor import versions
from gpudoctor.matrix.tables import RELEASE_TABLES
from gpudoctor.versions import Version
from scripts.refresh.common import Wheel, numpy_abi, refresh
from scripts.refresh.fatbin import order, read_code
from scripts.refresh.metadata import requires

PROJECTS = ("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt", "jax-cuda13-plugin", "jax-cuda13-pjrt")
_OLDEST = {"jax": (0, 4, 13), "jaxlib": (0, 4, 13)}
"""The index has no older jaxlib, without which no jax works. The CUDA plugin was first published for 0.4.22; jaxlib is compiled for NumPy 1 up to 0.4.25."""
_ON = "linux_x86_64"
"""The platform whose jaxlib is read for NumPy: the others are built from the same source."""
_USES_NUMPY = ("/jaxlib/xla_extension.so", "/jaxlib/libjax_common.so")
_OTHER_EXTRA = re.compile(r'extra=="(?!cuda|with-cuda)')
_FLOORS = {
    "12": "JAX's documentation requires compute capability 5.2 and driver 525",
    "13": "JAX's documentation requires compute capability 7.5 and driver 580",
}


def wanted(distribution: str, release: Version) -> bool:
    """Return whether the table holds this release."""
    return release >= _OLDEST.get(distribution, (0, 4, 22))


def parse_versions(module: bytes, platform: str) -> tuple[Version, Version] | None:
    """Return the CUDA and cuDNN versions that a plugin was built with, as _versions.so returns them; None if not found.

    cuda_runtime_build_version, cudnn_build_version and cublas_build_version are three functions in this order, each of which only
    converts a constant to a Python integer: 12090, 90800, 120901.
    """
    constants = _x86_64_constants(module) if platform == "linux_x86_64" else _aarch64_constants(module)
    found = {
        (cuda, cudnn)
        for cuda, cudnn, cublas in _threes(list(constants))
        if cuda % 10 == 0 and 11 <= cuda // 1000 == cublas // 10000 and 8000 <= cudnn < 200000
    }
    if len(found) != 1:
        return None
    cuda, cudnn = found.pop()
    return versions.from_cuda_integer(cuda), cudnn_version(cudnn)


def for_gpus(required: Iterable[str]) -> tuple[str, ...]:
    """Return the requirements without extras for other accelerators, for tests, or for nothing but a version."""
    return tuple(text for text in required if _OTHER_EXTRA.search(text) is None)


def cudnn_version(number: int) -> Version:
    """Return the version in cudnn.h's encoding: 8904 is 8.9.4; since 9 with two more digits: 90800 is 9.8.0."""
    unit = 1000 if number < 10000 else 10000
    major, minor, patch = number // unit, number % unit // 100, number % 100
    return Version(major, minor, patch, text=f"{major}.{minor}.{patch}")


def read(wheel: Wheel) -> dict[str, Any]:
    """Return the fields that one wheel gives."""
    _, _, kind = wheel.release.distribution.rpartition("-")
    told: dict[str, Any] = {"requires": for_gpus(requires(wheel.metadata(), wheel.release.platform))}
    if kind == "jax":
        return {**told, "accelerator": "none"}
    if kind == "jaxlib":
        numpy = _numpy(wheel) if wheel.release.platform == _ON else None
        return {**told, "accelerator": "cpu", "numpy_abi": numpy}
    told["accelerator"] = "cuda"
    told["sass"], told["ptx"] = _code(wheel, big=kind == "pjrt")
    return told | _built_with(wheel) if kind == "plugin" else told


def _built_with(wheel: Wheel) -> dict[str, Any]:
    cuda = wheel.release.distribution.removeprefix("jax-cuda")[:2]
    told = wheel.learn("CUDA and cuDNN it was built with", lambda: _versions(wheel))
    sources = (f"{wheel.release.distribution}-wheels", "jax-installation")
    built = [versions.parse_version(text) for text in told]
    return {"built_with_cuda": built[0], "cudnn": built[1], "source": sources, "note": _FLOORS.get(cuda, "")}


def _versions(wheel: Wheel) -> tuple[str, str]:
    name = wheel.find("/_versions.so")
    found = parse_versions(wheel.zip.read(name), wheel.release.platform) if name else None
    if found is None:
        raise ValueError("_versions.so does not state its CUDA version")
    return str(found[0]), str(found[1])


def _numpy(wheel: Wheel) -> int | None:
    """Return the NumPy that the largest library of jaxlib supports."""
    abis = (wheel.learn_of(name, "NumPy", lambda library: numpy_abi(library.read())) for name in _USES_NUMPY)
    return next(filter(None, abis), None)


def _code(wheel: Wheel, *, big: bool) -> tuple[tuple[str, ...], ...]:
    """Return the architectures with machine code and with PTX in its libraries; a `big` wheel has one library, which is streamed."""

    def of_all() -> list[str]:
        code: set[str] = set()
        for name in wheel.zip.namelist():
            if name.endswith(".so"):
                with wheel.zip.open(name) as library:
                    code.update(*read_code(library))
        return sorted(code, key=order)

    found = wheel.learn_of("/xla_cuda_plugin.so", "code", read_code) if big else None
    code = [name for names in found for name in names] if found else wheel.learn("architectures of its libraries", of_all)
    return tuple(tuple(name for name in code if name.startswith(kind)) for kind in ("sm_", "compute_"))


def _threes(numbers: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    return zip(numbers, itertools.islice(numbers, 1, None), itertools.islice(numbers, 2, None), strict=False)


def _x86_64_constants(module: bytes) -> Iterator[int]:
    """Yield the constants passed straight to a function: mov edi, constant; call or jmp."""
    for found in re.finditer(rb"\xbf(.{4})[\xe8\xe9]", module, re.DOTALL):
        yield struct.unpack("<I", found[1])[0]


def _aarch64_constants(module: bytes) -> Iterator[int]:
    """Yield the constants passed straight to a function: movz w0 (and movk w0 for the upper half); bl or b."""
    held: int | None = None
    for (word,) in struct.iter_unpack("<I", module[: len(module) // 4 * 4]):
        half = word >> 5 & 0xFFFF
        if word & 0xFFE0001F == 0x52800000:
            held = half
        elif word & 0xFFE0001F == 0x72A00000 and held is not None:
            held |= half << 16
        else:
            if word >> 26 in {0b100101, 0b000101} and held is not None:
                yield held
            held = None


if __name__ == "__main__":
    sys.exit(refresh(RELEASE_TABLES["jax"], PROJECTS, wanted, read, ("jax",)))
