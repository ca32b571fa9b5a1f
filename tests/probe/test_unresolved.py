"""Functions that a CUDA library lacks: the X-ray names one exactly if the real loader refuses the file that needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.machines.elf_library import Library
from tests.probe.test_libraries import cuda_wheels, framework, tensorflow, wheel, xray

NEEDED = "__nvJitLinkCreate_12_4"
LINKING = Library("libcusparse.so.12", ("libnvJitLink.so.12",), rpath="$ORIGIN/../../nvjitlink/lib", undefined=NEEDED)


def loads(path: Path) -> bool:
    command = (sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", str(path))
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("defines", [(NEEDED,), ("__nvJitLinkCreate_12_1",), (), ("__nvJitLinkCreate_12_1", NEEDED, "another")])
def test_what_the_loader_refuses_is_named(tmp_path: Path, defines: tuple[str, ...]) -> None:
    cuda_wheels(tmp_path)
    wheel(tmp_path, "nvidia_nvjitlink_cu12", "12.1.105")
    needing, lacking = (tmp_path / f"nvidia/{place}" for place in ("cusparse/lib/libcusparse.so.12", "nvjitlink/lib/libnvJitLink.so.12"))
    LINKING.put(needing)
    Library("libnvJitLink.so.12", defines=defines).put(lacking)
    (seen,) = xray(tmp_path, framework("tensorflow", tensorflow(tmp_path))).frameworks
    assert bool(seen.unresolved) is not loads(needing)
    for symbol in seen.unresolved:
        assert (symbol.symbol, symbol.owner) == (NEEDED, "nvidia-nvjitlink-cu12")
        assert (Path(symbol.needed_by).name, Path(symbol.library).name) == (needing.name, lacking.name)


def test_a_function_of_a_library_that_is_not_linked_is_not_looked_for(tmp_path: Path) -> None:
    """Another object of the process may define it."""
    cuda_wheels(tmp_path)
    Library("libcusparse.so.12", undefined=NEEDED).put(tmp_path / "nvidia/cusparse/lib/libcusparse.so.12")
    assert xray(tmp_path, framework("tensorflow", tensorflow(tmp_path))).frameworks[0].unresolved == ()


def test_a_function_is_of_the_library_with_the_longest_name_that_it_begins_with(tmp_path: Path) -> None:
    cuda_wheels(tmp_path)
    folder = tmp_path / "nvidia/cublas/lib"
    linked = ("libcublas.so.12", "libcublasLt.so.12")
    Library("libcusparse.so.12", linked, rpath="$ORIGIN/../../cublas/lib", undefined="cublasLtMatmulNew").put(
        tmp_path / "nvidia/cusparse/lib/libcusparse.so.12"
    )
    for name in linked:
        Library(name, defines=("another",)).put(folder / name)
    (seen,) = xray(tmp_path, framework("tensorflow", tensorflow(tmp_path))).frameworks
    assert [(symbol.symbol, Path(symbol.library).name) for symbol in seen.unresolved] == [("cublasLtMatmulNew", "libcublasLt.so.12")]
