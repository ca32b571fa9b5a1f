"""A layer over our NVML or libcuda that spoils what one function answers. It is generated from NVIDIA's header, so it knows every function."""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tests.seams.build import HERE, compiled, compiler, nvml_header, shared_library

WAYS: Final = ("garbage", "huge", "unterminated", "escapes")
"""As in spoiled.c."""
CUDA_HEADERS: Final = ("/usr/local/cuda/include/cuda.h", "/usr/local/cuda-13.0/include/cuda.h")
_PROTOTYPE: Final = re.compile(r"\b(nvmlReturn_t|CUresult)\s+(\w+)\s*\(([^()]*)\)\s*;")
_LENGTH: Final = re.compile(r"(?:unsigned )?int (len|length)$")
_COUNT: Final = re.compile(r"(?:unsigned )?int (\w*Count)$")


def header_of(source: str) -> Path:
    """Return NVIDIA's header that declares what a source implements. Raises StopIteration without a CUDA toolkit."""
    return nvml_header() if source == "nvml.c" else next(Path(path) for path in CUDA_HEADERS if Path(path).exists())


@functools.cache
def spoiled_library(source: str, soname: str, without: tuple[str, ...] = ()) -> Path:
    """Return the layer over the compiled `source`."""
    library, header = shared_library(source, soname, without), header_of(source)
    text = "\n".join(
        [
            "#define NVML_NO_UNVERSIONED_FUNC_DEFS",
            f'#include "{header}"',
            f'#define BELOW "{library}"',
            f'#include "{HERE / "spoiled.c"}"',
            *_functions(library, header),
        ]
    )
    return compiled(text, soname, [HERE / "spoiled.c", header])


@functools.cache
def _declared(header: Path) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return what each function of a header returns, and its parameters."""
    command = (compiler(), "-E", "-P", "-DNVML_NO_UNVERSIONED_FUNC_DEFS", str(header))
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {
        name: (returns, tuple(" ".join(one.split()) for one in parameters.split(",") if one.strip() != "void"))
        for returns, name, parameters in _PROTOTYPE.findall(text)
    }


def has_answers(source: str, function: str) -> bool:
    """Return whether a function fills in anything, in any of its versions."""
    versions = {
        name: parameters for name, (_, parameters) in _declared(header_of(source)).items() if re.sub(r"_v\d$", "", name) == function
    }
    return any(map(_is_answer, (parameter for parameters in versions.values() for parameter in parameters)))


def _is_answer(parameter: str) -> bool:
    return bool(re.search(r"[^*]\*\s?\w+$", parameter)) and not parameter.startswith(("const", "void"))


def _functions(library: Path, header: Path) -> Iterator[str]:
    with library.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(section, SymbolTableSection)
        offered = {symbol.name for symbol in section.iter_symbols() if symbol["st_shndx"] != "SHN_UNDEF"}
    for name, (returns, parameters) in _declared(header).items():
        if name in offered:
            yield _function(returns, name, list(parameters))


def _function(returns: str, name: str, parameters: list[str]) -> str:
    names = [re.findall(r"\w+", parameter)[-1] for parameter in parameters]
    spoils = "".join(
        f" spoil(way, {names[place]}, {_size(parameters, place, names[place])}, {int(parameter.startswith('char'))});"
        for place, parameter in enumerate(parameters)
        if _is_answer(parameter)
    )
    listed = ", ".join(parameters) or "void"
    return (
        f"{returns} {name}({listed}) {{ {returns} (*function)({listed}) = below(__func__); {returns} code = function({', '.join(names)});"
        f" const char *way = code ? NULL : way_of(__func__); if (way) {{{spoils} }} return code; }}"
    )


def _size(parameters: list[str], place: int, name: str) -> str:
    """Return the size of an answer in C: a text's by the parameter after it, an array's by the count before it."""
    length = _LENGTH.match(parameters[place + 1]) if place + 1 < len(parameters) else None
    count = _COUNT.match(parameters[place - 1]) if place else None
    if length and parameters[place].startswith("char"):
        return f"(size_t){length[1]}"
    return f"sizeof *{name}" + (f" * (size_t){count[1]}" if count else "")
