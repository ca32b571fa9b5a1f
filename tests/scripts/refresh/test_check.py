"""`--check` of each script, over our own index: 1 if the index has something the table lacks, otherwise 0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.matrix.table import Table
from gpudoctor.matrix.tables import CUDA, CUDNN, OTHER_RELEASES, RELEASE_TABLES

from .served import archive, metadata, run, served
from .test_fatbin import SASS_90A, container, entry

pytest.importorskip("pip", reason="the refresh scripts read the index as pip is configured for it")

SOURCES = ("cuda-wheels", "cudnn-wheels", "torch-wheels", "jax-wheels", "tensorflow-wheels", "cupy-wheels", "by-hand")
LIBRARY = "a_dot_data__libcublas_dot_so_dot_12"
CPU = "build_info = dict([('is_cuda_build', False)])\n"


def tables(folder: Path, table: Table[Any], *rows: str) -> Path:
    """A folder with one table and its sources; missing trailing cells are blank."""
    blanks = len(table.columns) - 1
    lines = [",".join(table.columns), *(row + "," * (blanks - row.count(",")) for row in rows)]
    folder.mkdir()
    (folder / f"{table.name}.csv").write_text("".join(f"{line}\n" for line in lines))
    (folder / "sources.csv").write_text("id,title,url,read\n" + "".join(f"{name},T,,2020-01-01\n" for name in sorted(SOURCES)))
    return folder


def toolkits(*releases: str) -> dict[str, dict[str, bytes]]:
    """cuda-toolkit's releases, each pinning one library."""
    pinned = metadata("Requires-Dist: nvidia-cublas-cu12==12.4.5.8.*; extra == 'all'")
    return {
        "cuda-toolkit": {f"cuda_toolkit-{release}-py2.py3-none-any.whl": archive(**pinned) for release in releases},
        "nvidia-cublas-cu12": {"nvidia_cublas_cu12-12.4.5.8-py3-none-manylinux1_x86_64.whl": archive(**{LIBRARY: b""})},
    }


def test_a_toolkit_without_a_row_is_found_and_gets_one_without_a_driver(tmp_path: Path) -> None:
    known = "12.4,550.54.14,,525.60.13,,,,,libcublas.so.12,nvidia-cublas-cu12==12.4.5.8,by-hand cuda-wheels"
    compat = tables(tmp_path / "compat", CUDA, known)
    with served(toolkits("12.4.0")) as address:
        done = run("cuda", address, compat, "--check")
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    with served(toolkits("12.4.0", "12.4.2.0", "13.0.0rc1")) as address:
        done = run("cuda", address, compat, "--check")
        assert done.returncode == 1
        added = "12.4.2,,,525.60.13,,,,,libcublas.so.12,nvidia-cublas-cu12==12.4.5.8,by-hand cuda-wheels,no source states its driver"
        assert f"+{added}\n" in done.stdout
        assert run("cuda", address, compat, "--write").returncode == 0
        assert run("cuda", address, compat, "--check").returncode == 0


def test_a_compiler_of_a_minor_version_without_a_row_is_found(tmp_path: Path) -> None:
    compat = tables(tmp_path / "compat", CUDA, "12.4,550.54.14,,525.60.13,,,,,,,by-hand")
    held = {"nvidia-cuda-nvcc": {"nvidia_cuda_nvcc-13.9.1-py3-none-manylinux1_x86_64.whl": b""}}
    with served(held) as address:
        assert run("cuda", address, compat).returncode == 0
        done = run("cuda", address, compat, "--check")
    assert done.returncode == 1
    assert "CUDA 13.9 has a compiler and no toolkit on the index, and no row here" in done.stderr


def cudnn_wheel() -> bytes:
    lib = "nvidia__cudnn__lib__lib"
    return archive(**{f"{lib}cudnn_dot_so_dot_9": b"ELF", f"{lib}cudnn_ops_dot_so_dot_9": b"ELF" + container(entry(SASS_90A))})


@pytest.mark.parametrize("platform", ["manylinux_2_27_x86_64", "manylinux_2_27_aarch64"])
def test_a_cudnn_without_a_row_for_its_platform_is_found(tmp_path: Path, platform: str) -> None:
    known = "9.11.0.98,12,win_amd64,cudnn64_9.dll,sm_90a,none,cudnn-wheels"
    compat = tables(tmp_path / "compat", CUDNN, known)
    names = ("nvidia_cudnn_cu12-9.11.0.98-py3-none-win_amd64.whl", f"nvidia_cudnn_cu12-9.11.0.98-py3-none-{platform}.whl")
    with served({"nvidia-cudnn-cu12": {names[0]: b""}}) as address:
        assert run("cudnn", address, compat, "--check").returncode == 0
    with served({"nvidia-cudnn-cu12": {names[0]: b"", names[1]: cudnn_wheel()}}) as address:
        assert run("cudnn", address, compat, "--check").returncode == 1


TORCH_WHEEL = archive(
    torch__version_dot_py="__version__ = '2.1.0'\ncuda = None\n",
    torch__lib__libtorch_python_dot_so=b"\0numpy.core._multiarray_umath\0",
    **metadata(""),
)
FRAMEWORKS: dict[str, tuple[Table[Any], str, bytes, str]] = {
    "torch": (
        RELEASE_TABLES["torch"],
        "torch-{}-cp311-cp311-manylinux1_x86_64.whl",
        TORCH_WHEEL,
        "torch,{},linux_x86_64,3.11,cpu,,,,,,1,,,torch-wheels",
    ),
    "tensorflow": (
        RELEASE_TABLES["tensorflow"],
        "tensorflow-{}-cp311-cp311-manylinux1_x86_64.whl",
        archive(tensorflow__python__platform__build_info_dot_py=CPU, **metadata("")),
        "tensorflow,{},linux_x86_64,3.11,cpu,,,,,,,,,tensorflow-wheels",
    ),
    "jax": (RELEASE_TABLES["jax"], "jax-{}-py3-none-any.whl", archive(**metadata("")), "jax,{},any,,none,,,,,,,,,jax-wheels"),
    "others": (
        OTHER_RELEASES,
        "cupy_cuda13x-{}-cp311-cp311-manylinux1_x86_64.whl",
        archive(**metadata("")),
        "cupy-cuda13x,{},linux_x86_64,3.11,cuda,13,,,,,,,,cupy-wheels",
    ),
}


@pytest.mark.parametrize("script", FRAMEWORKS)
def test_a_release_or_a_post_release_without_a_row_is_found(tmp_path: Path, script: str) -> None:
    table, name, wheel, row = FRAMEWORKS[script]
    compat = tables(tmp_path / "compat", table, row.format("15.0.0"))
    again = "15.0.0.post1" if script == "tensorflow" else "15.0.1"
    assert checked(script, compat, table, {name.format("15.0.0"): wheel}) == 0
    assert checked(script, compat, table, {name.format("15.0.0"): wheel, name.format(again): wheel}) == 1


@pytest.mark.parametrize("script", FRAMEWORKS)
def test_a_release_only_for_other_platforms_is_found_too(tmp_path: Path, script: str) -> None:
    table, name, wheel, row = FRAMEWORKS[script]
    compat = tables(tmp_path / "compat", table, row.format("15.0.0"))
    other = name.format("15.0.2").replace("manylinux1_x86_64", "linux_s390x").replace("none-any", "none-linux_s390x")
    assert checked(script, compat, table, {name.format("15.0.0"): wheel, other: wheel}) == 1
    assert checked(script, compat, table, {name.format("15.0.0"): wheel, name.format("15.0.2rc1"): wheel}) == 0


def checked(script: str, compat: Path, table: Table[Any], files: Mapping[str, bytes]) -> int:
    """The exit status of --check over an index with these files."""
    project = (compat / f"{table.name}.csv").read_text().splitlines()[1].partition(",")[0]
    with served({project: files}) as address:
        return run(script, address, compat, project, "--check").returncode
