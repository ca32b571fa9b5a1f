"""Rebuilds compat/tensorflow.csv from the published wheels of TensorFlow."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any, NamedTuple

from gpudoctor import versions
from gpudoctor.matrix.tables import RELEASE_TABLES
from gpudoctor.versions import Version
from scripts.refresh.common import Release, Wheel, numpy_abi, refresh
from scripts.refresh.fatbin import order, read_code
from scripts.refresh.metadata import requires
from scripts.refresh.search_path import unreachable

PROJECTS = ("tensorflow", "tensorflow-cpu", "tensorflow-cpu-aws", "tensorflow-gpu", "tensorflow-macos")
_OLDEST = (0, 12)
_USES_NUMPY = ("/_pywrap_checkpoint_reader.so", "/_pywrap_checkpoint_reader.pyd", "/fast_tensor_util.so", "/fast_tensor_util.pyd")
"""Small modules that use NumPy's C interface."""
_LIBRARIES = (
    "/_pywrap_tensorflow_internal.so",
    "/_pywrap_tensorflow_internal.pyd",
    "/_pywrap_tensorflow.so",
    "/_pywrap_tensorflow.pyd",
    "/libtensorflow_framework.so",
    "/libtensorflow_framework.so.1",
    "/libtensorflow_framework.so.2",
)
"""The files of old releases that contain the GPU code and name the CUDA libraries."""
_OPENS_CUDA = "/tensorflow/libtensorflow_framework.so.2"
"""The library that opens CUDA libraries by name since 2.2: its search path applies."""
_NAMED = re.compile(rb"cud(art|nn)(?:\.so\.(\d[\d.]*)\0|(64_\d+)\.dll|\0)")
"""A CUDA library by its file name, or by its bare name preceded by its version."""
_COMPILED_WITH = {
    (2, 5): ("8.1", ("tensorflow-issue-50217", "tensorflow-issue-58986")),
    (2, 12): ("8.6", ("tensorflow-issue-60913", "tensorflow-text-issue-1181")),
    (2, 14): ("", ()),
}
"""From a release on, the cuDNN that TensorFlow says it was compiled with when it refuses an older one, and the source.

build_info.py only names the major version. Since 2.14 requirements name the rest, and up to 2.4 no source was found.
"""
_TESTED = {(1, 0): ("8.0", "5.1"), (1, 3): ("8.0", "6"), (1, 4): ("", "")}
"""From a release on, CUDA and cuDNN in TensorFlow's tables of tested builds for Linux and Windows, for what no library names.

From 1.4 on build_info.py names both.
"""
_BEFORE = re.compile(rb"\0(\d[\d.]*)\0$")


class Libraries(NamedTuple):
    """The content of an old release's libraries: architectures, and the CUDA and cuDNN libraries they name ("10.0", "64_100")."""

    sass: tuple[str, ...] = ()
    ptx: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()
    cudnn: tuple[str, ...] = ()


def wanted(_distribution: str, release: Version) -> bool:
    """Return whether the table has this release."""
    return release[:2] >= _OLDEST


def parse_build_info(text: str) -> dict[str, Any]:
    """Return the facts in build_info.py, without running it: the dictionary `build_info`, or one variable per fact in old releases."""
    facts: dict[str, Any] = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = statement.value
            literal = ast.literal_eval(value.args[0] if isinstance(value, ast.Call) and value.args else value)
            facts.update(dict(literal) if statement.targets[0].id == "build_info" else {statement.targets[0].id: literal})
    return facts


def parse_version(named: str) -> Version | None:
    """Return a version as wheels spell it: "12.5.1", "8", and on Windows by the DLL, "64_112" (11.2), "64_90" (9.0), "64_12" and "64_8"."""
    digits = named.removeprefix("64_")
    if len(digits) == 2 and digits[0] == "1":  # since CUDA 12 a DLL only names the major version
        return versions.parse_version(digits)
    return versions.parse_version(f"{digits[:-1]}.{digits[-1]}" if digits != named and len(digits) > 1 else digits)


def names_in(piece: bytes) -> Iterator[tuple[str, str]]:
    """Yield the CUDA libraries that a piece of a library names: ("art", "10.0"), ("nn", "64_7")."""
    for match in _NAMED.finditer(piece):
        before = _BEFORE.search(piece[max(0, match.start() - 12) : match.start()])
        version = match[2] or match[3] or (before[1] if before else b"")
        if version:
            yield match[1].decode(), version.decode()


def facts_of(build_info: dict[str, Any], libraries: Libraries) -> dict[str, Any]:
    """Return the build's columns of the row.

    build_info.py lists "sm_80" for machine code only and "compute_90" for both machine code and PTX, like the fat binaries of 2.21.0.
    Old releases have no such list, and those before 1.14 no versions; these come from their libraries.
    """
    if "is_cuda_build" not in build_info:
        raise ValueError("build_info.py does not state whether this is a CUDA build")
    if not build_info["is_cuda_build"]:
        return {"accelerator": "cpu", "built_with_cuda": None, "cudnn": None, "sass": None, "ptx": None}
    listed = build_info.get("cuda_compute_capabilities") or ()
    return {
        "accelerator": "cuda",
        "built_with_cuda": _told(build_info.get("cuda_version") or build_info.get("cuda_version_number"), libraries.cuda),
        "cudnn": _told(build_info.get("cudnn_version") or build_info.get("cudnn_version_number"), libraries.cudnn),
        "sass": tuple(name.replace("compute_", "sm_") for name in listed) or libraries.sass or None,
        "ptx": tuple(name for name in listed if name.startswith("compute_")) if listed else libraries.ptx or None,
    }


def read(wheel: Wheel) -> dict[str, Any]:
    """Return the fields that one wheel gives."""
    required = requires(wheel.metadata(), wheel.release.platform)
    info = wheel.text("/python/platform/build_info.py")
    if info is None:
        return {"requires": required, **_without_build_info(wheel, required)}
    facts = parse_build_info(info)
    old = facts.get("is_cuda_build") and not facts.get("cuda_compute_capabilities")
    told = facts_of(facts, _libraries(wheel) if old else Libraries())
    told |= _exact_cudnn(told["cudnn"], wheel)
    told["unreachable"] = _unreachable(wheel, required, told["accelerator"])
    note = {"note": "architectures by the fat binary headers of its libraries"} if old else {}
    return {"requires": required, "numpy_abi": wheel.learn("NumPy", lambda: _numpy(wheel)), **note, **told}


def _exact_cudnn(named: Version | None, wheel: Wheel) -> dict[str, Any]:
    """Return the cuDNN that the release was compiled with, and the sources, if it is of the major version that the wheel names."""
    known = [told for first, told in _COMPILED_WITH.items() if wheel.release.release >= first]
    exact, sources = known[-1] if known else ("", ())
    compiled = versions.parse_version(exact)
    if named is None or compiled is None or compiled.major != named.major:
        return {}
    return {"cudnn": compiled, "source": (f"{wheel.release.distribution}-wheels", *sources)}


def _unreachable(wheel: Wheel, required: Iterable[str], accelerator: str) -> tuple[str, ...] | None:
    linux = wheel.release.platform.startswith("linux_")
    return unreachable(wheel, required, _OPENS_CUDA) if linux and accelerator == "cuda" else None


def _without_build_info(wheel: Wheel, required: Iterable[str]) -> dict[str, Any]:
    """Return the build of a wheel up to 1.3, from its libraries, or of one without files."""
    if not any(map(wheel.find, _LIBRARIES)):
        return _in_place_of(required)
    libraries = _libraries(wheel)
    named = {"note": "by its libraries: the wheel has no build_info.py"}
    told = facts_of({"is_cuda_build": bool(libraries.sass or libraries.cuda)}, libraries)
    return {**told, **named, **_tested(told, wheel.release)}


def _tested(told: dict[str, Any], release: Release) -> dict[str, Any]:
    """Return the CUDA and cuDNN that the libraries of a CUDA build do not name, by the table of tested builds, and the source."""
    known = [pair for first, pair in _TESTED.items() if release.release >= first]
    if not known or told["accelerator"] != "cuda" or release.platform.startswith("macos"):
        return {}
    tested = {field: versions.parse_version(text) for field, text in zip(("built_with_cuda", "cudnn"), known[-1], strict=True)}
    found = {field: version for field, version in tested.items() if version is not None and told[field] is None}
    return {**found, "source": (f"{release.distribution}-wheels", "tensorflow-tested-builds")} if found else {}


def _in_place_of(required: Iterable[str]) -> dict[str, Any]:
    """Return the build of a wheel without files, which only exists for the package that it requires."""
    names = [re.split(r"[=<>~!\[;]", text)[0] for text in required]
    others = [name for name in names if name in {"tensorflow", "tensorflow-intel", "tensorflow-macos", "tensorflow-cpu-aws"}]
    if len(others) != 1:
        raise ValueError("the wheel has no build_info.py")
    return {"accelerator": "cpu", "note": f"has no files; installs {others[0]}"}


def _told(said: str | None, named: tuple[str, ...]) -> Version | None:
    """Return the version in build_info.py, or its library's if that is more exact ("10.0" for "10")."""
    exact = parse_version(named[0]) if len(named) == 1 else None
    vague = parse_version(said or "")
    return exact if exact is not None and (vague is None or ("." not in vague.text and exact.major == vague.major)) else vague


def _numpy(wheel: Wheel) -> int | None:
    members = [wheel.find(ending) for ending in _USES_NUMPY]
    return next((numpy_abi(wheel.zip.read(member)) for member in members if member), None)


def _libraries(wheel: Wheel) -> Libraries:
    """Read the libraries with GPU code, some 300 MB of a wheel, once from end to end."""
    answers = (wheel.learn_of(ending, "code and names", lambda library: read_library(library)._asdict()) for ending in _LIBRARIES)
    found = [Libraries(**answer) for answer in answers if answer]
    sass, ptx, cuda, cudnn = ({item for libraries in found for item in libraries[field]} for field in range(4))
    return Libraries(tuple(sorted(sass, key=order)), tuple(sorted(ptx, key=order)), tuple(sorted(cuda)), tuple(sorted(cudnn)))


def read_library(library: IO[bytes]) -> Libraries:
    """Read the architectures and names in a library once from end to end."""
    watched = Watched(library, names_in)
    code = read_code(watched)
    cuda, cudnn = (tuple(sorted(version for name, version in watched.found if name == which)) for which in ("art", "nn"))
    return Libraries(code.sass, code.ptx, cuda, cudnn)


class Watched:
    """A stream that records what `find` finds in its content, however the content is cut into pieces."""

    def __init__(self, file: IO[bytes], find: Callable[[bytes], Iterable[Any]]) -> None:
        self._file, self._find, self._tail = file, find, b""
        self.found: set[Any] = set()

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes."""
        piece = self._file.read(size)
        self.found.update(self._find(self._tail + piece))
        self._tail = piece[-64:]
        return piece


if __name__ == "__main__":
    sys.exit(refresh(RELEASE_TABLES["tensorflow"], PROJECTS, wanted, read))
