"""The CUDA toolkits and host compilers on disk, read from their files without running any."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import msgspec

from gpudoctor import versions
from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Compiler, Fact, Missing, Toolkit, printable_text

TOOLKIT_FOLDERS = (("/usr/local", "cuda"), ("/opt", "cuda"), ("/opt/nvidia/hpc_sdk", "cuda"))
"""Folders, and the prefixes of toolkits in them."""
DEBIAN_FOLDER = "/usr/lib/cuda"
"""Where Debian and Ubuntu link their package's files, which are spread over /usr."""
TOOLKIT_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
HOST_COMPILERS = ("gcc", "g++", "clang")
HOST_COMPILER_VARIABLES = ("CUDAHOSTCXX", "NVCC_CCBIN", "CC")
HEADER_BYTES = 64 << 10
"""cuda.h states its release within the first fifteen thousand bytes."""
_MAX_LINKS = 40


def toolkits_on_disk(root: str, environ: Mapping[str, str]) -> tuple[Toolkit, ...]:
    """Every toolkit once, in the order found; an empty tuple means that there is none."""
    found: dict[str, list[str]] = {}
    for path, name in _candidate_folders(root, environ):
        place = _resolved_path(root, path)
        if _is_toolkit(root, place):
            names = found.setdefault(place, [])
            if name != place and name not in names:
                names.append(name)
    return tuple(_toolkit_at(root, place, names) for place, names in found.items())


def _candidate_folders(root: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Folders that may be a toolkit's, each with its source."""
    for folder, beginning in TOOLKIT_FOLDERS:
        yield from ((path, path) for path in _paths_in_folder(root, folder) if os.path.basename(path).startswith(beginning))
    yield DEBIAN_FOLDER, DEBIAN_FOLDER
    for variable in TOOLKIT_VARIABLES:
        if os.path.isabs(environ.get(variable, "")):
            yield os.path.normpath(environ[variable]), variable
    compiler = program_on_path(root, "nvcc", environ)
    if compiler:
        yield _toolkit_of_compiler(root, _resolved_path(root, compiler)), "PATH"


def _toolkit_of_compiler(root: str, compiler: str) -> str:
    """The toolkit of an nvcc. A wrapper script is resolved to what it starts, Debian's to what lies in /usr/lib."""
    place = os.path.dirname(os.path.dirname(compiler))
    if place == "/usr" and files.is_folder(DEBIAN_FOLDER, root):
        return DEBIAN_FOLDER
    text = files.text_or_empty(compiler, root, 512)
    if text.startswith("#!"):
        started = next((word for word in text.replace('"', " ").split() if word.startswith("/") and word.endswith("/bin/nvcc")), compiler)
        return os.path.dirname(os.path.dirname(started))
    return place


def _paths_in_folder(root: str, folder: str) -> list[str]:
    """The paths in a folder; none if it cannot be read."""
    return [f"{folder}/{name}" for name in files.entries_or_empty(folder, root)]


def _toolkit_homes(place: str) -> tuple[str, ...]:
    """Where a toolkit's files are; Debian spreads them over /usr."""
    return (place, "/usr") if place == DEBIAN_FOLDER else (place,)


def _is_toolkit(root: str, place: str) -> bool:
    """Whether a folder has a compiler or the header; NVIDIA's drivers and samples leave folders with similar names."""
    inside = ("bin/nvcc", "include/cuda.h", "version.json", "version.txt", f"targets/{os.uname().machine}-linux/include/cuda.h")
    return any(files.exists(f"{home}/{one}", root) for home in _toolkit_homes(place) for one in inside)


def _toolkit_at(root: str, place: str, names: list[str]) -> Toolkit:
    homes = _toolkit_homes(place)
    cudart = _cudart_path(root, homes)
    return Toolkit(
        path=printable_text(place),
        named_by=tuple(printable_text(name) for name in names),
        toolkit_cuda=_toolkit_release(root, homes, cudart),
        nvcc=_toolkit_program(root, homes, "nvcc"),
        ptxas=_toolkit_program(root, homes, "ptxas"),
        cudart=cudart.rpartition("/")[2] if isinstance(cudart, str) else cudart,
    )


def _toolkit_program(root: str, homes: tuple[str, ...], name: str) -> str | Missing:
    paths = [f"{home}/bin/{name}" for home in homes]
    for path in paths:
        if os.access(files.path_in_tree(root, path), os.X_OK):
            return printable_text(path)
    return Missing(Cause.ABSENT, f"{printable_text(paths[0])} does not exist")


def _cudart_path(root: str, homes: tuple[str, ...]) -> str | Missing:
    """The runtime library with the longest name: libcudart.so.12.4.127 says more than its link libcudart.so.12."""
    machine = os.uname().machine
    folders = [f"{home}/{lib}" for home in homes for lib in ("lib64", f"targets/{machine}-linux/lib", f"lib/{machine}-linux-gnu", "lib")]
    for folder in folders:
        libraries = [path for path in _paths_in_folder(root, folder) if os.path.basename(path).startswith("libcudart.so.")]
        if libraries:
            return printable_text(max(libraries, key=len))
    return Missing(Cause.ABSENT, f"{printable_text(homes[0])} contains no libcudart.so")


def _toolkit_release(root: str, homes: tuple[str, ...], cudart: str | Missing) -> Fact | Missing:
    """The release, from the file that states it most exactly."""
    for home in homes:
        for name, read in (("version.json", _release_in_json), ("version.txt", _release_in_text), ("include/cuda.h", _release_in_header)):
            path = f"{home}/{name}"
            if release := read(files.text_or_empty(path, root, HEADER_BYTES)):
                return Fact(release, printable_text(path))
    parsed = versions.parse_version(cudart.rpartition("libcudart.so.")[2]) if isinstance(cudart, str) else None
    if parsed is not None:
        return Fact(parsed.text, str(cudart))
    return Missing(Cause.ABSENT, f"no file in {printable_text(homes[0])} states its version")


def _release_in_json(text: str) -> str | None:
    """NVIDIA's since CUDA 11: {"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, ...}."""
    try:
        said = msgspec.json.decode(text)["cuda"]["version"]
    except (msgspec.DecodeError, TypeError, KeyError, IndexError):
        return None
    parsed = versions.parse_version(said) if isinstance(said, str) else None
    return parsed.text if parsed else None


def _release_in_text(text: str) -> str | None:
    """NVIDIA's before: "CUDA Version 10.1.243"."""
    parsed = versions.parse_version(text.partition("CUDA Version")[2].split("\n")[0])
    return parsed.text if parsed else None


def _release_in_header(text: str) -> str | None:
    """cuda.h: "#define CUDA_VERSION 13000"."""
    words = text.partition("#define CUDA_VERSION")[2].split(maxsplit=1)
    digits = words[0] if words else ""
    return versions.from_cuda_integer(int(digits)).text if digits.isascii() and digits.isdecimal() and 4 <= len(digits) <= 6 else None


def host_compilers(root: str, environ: Mapping[str, str]) -> tuple[Compiler, ...]:
    """The versions of `gcc`, `g++` and `clang` on PATH, and of the compilers that variables name."""
    named = [(name, program_on_path(root, name, environ)) for name in HOST_COMPILERS]
    for variable in HOST_COMPILER_VARIABLES:
        value = environ.get(variable, "")
        named.append((variable, value if os.path.isabs(value) else program_on_path(root, value, environ) if value else ""))
    return tuple(Compiler(name=name, path=printable_text(path), version=_compiler_version(root, path)) for name, path in named if path)


def _compiler_version(root: str, path: str) -> Fact | Missing:
    """From the end of the file's name (x86_64-linux-gnu-gcc-12), otherwise from the only folder of gcc's own files."""
    place = _resolved_path(root, path)
    parsed = versions.parse_version(place.rpartition("-")[2])
    if parsed is not None:
        return Fact(parsed.text, f"the name of {printable_text(place)}")
    machines = _paths_in_folder(root, "/usr/lib/gcc")
    folders = [
        folder for machine in machines for folder in _paths_in_folder(root, machine) if versions.parse_version(os.path.basename(folder))
    ]
    if len(folders) == 1:
        return Fact(printable_text(os.path.basename(folders[0])), printable_text(folders[0]))
    return Missing(Cause.NOT_ASKED, f"the version of {printable_text(path)} is only known by running it")


def program_on_path(root: str, name: str, environ: Mapping[str, str]) -> str:
    """As a shell finds it, but never in the current directory; empty if nowhere."""
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(folder):
            path = os.path.join(folder, name)
            place = files.path_in_tree(root, _resolved_path(root, path))
            if os.path.isfile(place) and os.access(place, os.X_OK):
                return path
    return ""


def _resolved_path(root: str, path: str) -> str:
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
            target = os.readlink(files.path_in_tree(root, here))
        except OSError:
            done = here
            continue
        links += 1
        if links > _MAX_LINKS:
            return path
        done = "/" if target.startswith("/") else done
        pending += target.split("/")[::-1]
    return done
