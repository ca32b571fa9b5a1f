"""Compiles our C libraries once for each content, into a cache that test processes share."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations", "-O1", "-fPIC", "-shared")


class SeamUnavailable(RuntimeError):  # noqa: N818  # what a test skips for, no defect of ours
    """This machine cannot provide a seam; the message says why."""


def cache_directory() -> Path:
    """Where built libraries and unpacked packages are kept between runs: GPUDOCTOR_TEST_CACHE, otherwise below ~/.cache or in a temporary folder."""
    named = os.environ.get("GPUDOCTOR_TEST_CACHE")
    directory = Path(named) if named else Path.home() / ".cache" / "gpudoctor-tests"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError:
        directory = Path(tempfile.gettempdir()) / f"gpudoctor-tests-{os.getuid()}"
        directory.mkdir(mode=0o700, exist_ok=True)
    return directory


@contextmanager
def locked(name: str) -> Iterator[Path]:
    """Hold the cache's lock of that name against other test processes; yields the cache directory."""
    directory = cache_directory()
    with (directory / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield directory


@functools.cache
def nvml_header() -> Path:
    """NVIDIA's nvml.h, from the package nvidia-nvml-dev in this environment."""
    for folder in sys.path:
        for header in sorted(Path(folder or ".").glob("nvidia/*/include/nvml.h")):
            return header
    msg = "needs nvml.h: pip install nvidia-nvml-dev"
    raise SeamUnavailable(msg)


def compiler() -> str:
    """The C compiler of this machine."""
    for name in ("gcc", "cc"):
        if path := shutil.which(name):
            return path
    msg = "needs a C compiler (gcc)"
    raise SeamUnavailable(msg)


@functools.cache
def shared_library(source: str, soname: str, without: Sequence[str] = ()) -> Path:
    """The compiled `source` (a file beside this module) with that soname, without the functions `without`, like older drivers."""
    header = [nvml_header()] if source == "nvml.c" else []
    includes = [f"-I{header[0].parent}"] if header else []
    hidden = f"{{ local: {'; '.join(without)}; }};" if without else ""
    return compiled(f'#include "{HERE / source}"\n', soname, [HERE / source, *sorted(HERE.glob("*.h")), *header], includes, hidden)


def compiled(text: str, soname: str, inputs: Sequence[Path], includes: Sequence[str] = (), hidden: str = "") -> Path:
    """The compiled text with that soname; `inputs` are the files that it includes, and `hidden` is a linker script for its symbols."""
    parts = [*(path.read_bytes() for path in inputs), text.encode(), hidden.encode(), " ".join(FLAGS).encode()]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:20]
    with locked("build") as cache:
        folder = cache / "shims" / key
        library = folder / soname
        if library.exists():
            return library
        folder.mkdir(parents=True, exist_ok=True)
        script, source, unfinished = folder / "hidden.map", folder / "source.c", folder / f"{soname}.unfinished"
        script.write_text(hidden)
        source.write_text(text)
        link = [f"-Wl,-soname,{soname}", *([f"-Wl,--version-script={script}"] if hidden else [])]
        command = [compiler(), *FLAGS, *includes, str(source), "-o", str(unfinished), *link]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            msg = f"{soname} does not compile:\n{done.stderr}"
            raise RuntimeError(msg)
        unfinished.rename(library)
        return library


def preloaded(source: str, environment: Mapping[str, str], *, last: bool = False) -> dict[str, str]:
    """The LD_PRELOAD that gives a child of that environment the compiled `source` too, before or after existing preloads."""
    libraries = [str(shared_library(source, Path(source).with_suffix(".so").name)), environment.get("LD_PRELOAD")]
    return {"LD_PRELOAD": " ".join(filter(None, reversed(libraries) if last else libraries))}
