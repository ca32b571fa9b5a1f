"""The CUDA toolkits and host compilers on disk, read from their files without running any."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import msgspec

from gpudoctor import versions
from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Compiler, Fact, Missing, Toolkit, readable

PLACES = (("/usr/local", "cuda"), ("/opt", "cuda"), ("/opt/nvidia/hpc_sdk", "cuda"))
"""Folders, and the prefixes of toolkits in them."""
DEBIAN = "/usr/lib/cuda"
"""Where Debian and Ubuntu link their package's files, which are spread over /usr."""
VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
HOST_COMPILERS = ("gcc", "g++", "clang")
HOST_VARIABLES = ("CUDAHOSTCXX", "NVCC_CCBIN", "CC")
HEADER_BYTES = 64 << 10
"""cuda.h states its release within the first fifteen thousand bytes."""
_LINKS = 40


def toolkits(root: str, environ: Mapping[str, str]) -> tuple[Toolkit, ...]:
    """Every toolkit once, in the order found; an empty tuple means that there is none."""
    found: dict[str, list[str]] = {}
    for path, name in _candidates(root, environ):
        place = _resolved(root, path)
        if _is_toolkit(root, place):
            names = found.setdefault(place, [])
            if name != place and name not in names:
                names.append(name)
    return tuple(_toolkit(root, place, names) for place, names in found.items())


def _candidates(root: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Folders that may be a toolkit's, each with its source."""
    for folder, beginning in PLACES:
        yield from ((path, path) for path in _inside(root, folder) if os.path.basename(path).startswith(beginning))
    yield DEBIAN, DEBIAN
    for variable in VARIABLES:
        if os.path.isabs(environ.get(variable, "")):
            yield os.path.normpath(environ[variable]), variable
    compiler = on_path(root, "nvcc", environ)
    if compiler:
        yield _home_of(root, _resolved(root, compiler)), "PATH"


def _home_of(root: str, compiler: str) -> str:
    """The toolkit of an nvcc. A wrapper script is resolved to what it starts, Debian's to what lies in /usr/lib."""
    place = os.path.dirname(os.path.dirname(compiler))
    if place == "/usr" and files.is_folder(DEBIAN, root):
        return DEBIAN
    text = files.text(compiler, root, 512)
    if text.startswith("#!"):
        started = next((word for word in text.replace('"', " ").split() if word.startswith("/") and word.endswith("/bin/nvcc")), compiler)
        return os.path.dirname(os.path.dirname(started))
    return place


def _inside(root: str, folder: str) -> list[str]:
    """The paths in a folder; none if it cannot be read."""
    return [f"{folder}/{name}" for name in files.entries(folder, root)]


def _homes(place: str) -> tuple[str, ...]:
    """Where a toolkit's files are; Debian spreads them over /usr."""
    return (place, "/usr") if place == DEBIAN else (place,)


def _is_toolkit(root: str, place: str) -> bool:
    """Whether a folder has a compiler or the header; NVIDIA's drivers and samples leave folders with similar names."""
    inside = ("bin/nvcc", "include/cuda.h", "version.json", "version.txt", f"targets/{os.uname().machine}-linux/include/cuda.h")
    return any(files.exists(f"{home}/{one}", root) for home in _homes(place) for one in inside)


def _toolkit(root: str, place: str, names: list[str]) -> Toolkit:
    homes = _homes(place)
    cudart = _cudart(root, homes)
    return Toolkit(
        path=readable(place),
        named_by=tuple(readable(name) for name in names),
        toolkit_cuda=_release(root, homes, cudart),
        nvcc=_program(root, homes, "nvcc"),
        ptxas=_program(root, homes, "ptxas"),
        cudart=cudart.rpartition("/")[2] if isinstance(cudart, str) else cudart,
    )


def _program(root: str, homes: tuple[str, ...], name: str) -> str | Missing:
    paths = [f"{home}/bin/{name}" for home in homes]
    for path in paths:
        if os.access(files.under(root, path), os.X_OK):
            return readable(path)
    return Missing(Cause.ABSENT, f"{readable(paths[0])} does not exist")


def _cudart(root: str, homes: tuple[str, ...]) -> str | Missing:
    """The runtime library with the longest name: libcudart.so.12.4.127 says more than its link libcudart.so.12."""
    machine = os.uname().machine
    folders = [f"{home}/{lib}" for home in homes for lib in ("lib64", f"targets/{machine}-linux/lib", f"lib/{machine}-linux-gnu", "lib")]
    for folder in folders:
        libraries = [path for path in _inside(root, folder) if os.path.basename(path).startswith("libcudart.so.")]
        if libraries:
            return readable(max(libraries, key=len))
    return Missing(Cause.ABSENT, f"{readable(homes[0])} contains no libcudart.so")


def _release(root: str, homes: tuple[str, ...], cudart: str | Missing) -> Fact | Missing:
    """The release, from the file that states it most exactly."""
    for home in homes:
        for name, read in (("version.json", _from_json), ("version.txt", _from_text), ("include/cuda.h", _from_header)):
            path = f"{home}/{name}"
            if release := read(files.text(path, root, HEADER_BYTES)):
                return Fact(release, readable(path))
    parsed = versions.parse(cudart.rpartition("libcudart.so.")[2]) if isinstance(cudart, str) else None
    if parsed is not None:
        return Fact(parsed.text, str(cudart))
    return Missing(Cause.ABSENT, f"no file in {readable(homes[0])} states its version")


def _from_json(text: str) -> str | None:
    """NVIDIA's since CUDA 11: {"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, ...}."""
    try:
        said = msgspec.json.decode(text)["cuda"]["version"]
    except (msgspec.DecodeError, TypeError, KeyError, IndexError):
        return None
    parsed = versions.parse(said) if isinstance(said, str) else None
    return parsed.text if parsed else None


def _from_text(text: str) -> str | None:
    """NVIDIA's before: "CUDA Version 10.1.243"."""
    parsed = versions.parse(text.partition("CUDA Version")[2].split("\n")[0])
    return parsed.text if parsed else None


def _from_header(text: str) -> str | None:
    """cuda.h: "#define CUDA_VERSION 13000"."""
    words = text.partition("#define CUDA_VERSION")[2].split(maxsplit=1)
    digits = words[0] if words else ""
    return versions.from_cuda_integer(int(digits)).text if digits.isascii() and digits.isdecimal() and 4 <= len(digits) <= 6 else None


def compilers(root: str, environ: Mapping[str, str]) -> tuple[Compiler, ...]:
    """The versions of `gcc`, `g++` and `clang` on PATH, and of the compilers that variables name."""
    named = [(name, on_path(root, name, environ)) for name in HOST_COMPILERS]
    for variable in HOST_VARIABLES:
        value = environ.get(variable, "")
        named.append((variable, value if os.path.isabs(value) else on_path(root, value, environ) if value else ""))
    return tuple(Compiler(name=name, path=readable(path), version=_compiler_version(root, path)) for name, path in named if path)


def _compiler_version(root: str, path: str) -> Fact | Missing:
    """From the end of the file's name (x86_64-linux-gnu-gcc-12), otherwise from the only folder of gcc's own files."""
    place = _resolved(root, path)
    parsed = versions.parse(place.rpartition("-")[2])
    if parsed is not None:
        return Fact(parsed.text, f"the name of {readable(place)}")
    machines = _inside(root, "/usr/lib/gcc")
    folders = [folder for machine in machines for folder in _inside(root, machine) if versions.parse(os.path.basename(folder))]
    if len(folders) == 1:
        return Fact(readable(os.path.basename(folders[0])), readable(folders[0]))
    return Missing(Cause.NOT_ASKED, f"the version of {readable(path)} is only known by running it")


def on_path(root: str, name: str, environ: Mapping[str, str]) -> str:
    """As a shell finds it, but never in the current directory; empty if nowhere."""
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(folder):
            path = os.path.join(folder, name)
            place = files.under(root, _resolved(root, path))
            if os.path.isfile(place) and os.access(place, os.X_OK):
                return path
    return ""


def _resolved(root: str, path: str) -> str:
    """`path` with every link resolved inside `root`: a recorded tree's links must not lead out of it."""
    done, pending, links = "/", path.split("/")[::-1], 0
    while pending:
        part = pending.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            done = os.path.dirname(done)
            continue
        here = os.path.join(done, part)
        try:
            target = os.readlink(files.under(root, here))
        except OSError:
            done = here
            continue
        links += 1
        if links > _LINKS:
            return path
        done = "/" if target.startswith("/") else done
        pending += target.split("/")[::-1]
    return done
