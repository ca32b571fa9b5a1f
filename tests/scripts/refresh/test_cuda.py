from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.matrix import CudaRelease
from gpudoctor.matrix.tables import CUDA
from gpudoctor.matrix_files import read_table
from scripts.refresh.common import COMPAT
from scripts.refresh.cuda import Published, newest_by_minor, parse_host_gcc, parse_ptx_isa, parse_targets, pins, sonames, updated
from scripts.refresh.index import IndexFile
from tests.matrix.samples import version

# `ptxas --help` of CUDA 13.0, shortened: options before and after name values too.
HELP = """
--generate-line-info                                (-lineinfo)
        Generate debug line table information.

--gpu-name <gpu name>                               (-arch)
        Specify name of NVIDIA GPU to generate code for. PTX for .target sm_XY can be compiled to all
        GPU targets sm_MN, sm_MNa, SM_MNf where MN >= XY.
        Allowed values for this option:  'compute_100','compute_75','lto_100','lto_75','sm_100',
        'sm_100a','sm_100f','sm_75','sm_90',
        'sm_90a'.
        Default value:  'sm_75'.

--warn-on-something                                 (-w)
        Allowed values for this option:  'sm_1','sm_2'.

"""
REFUSAL = "ptxas x.ptx, line 1; fatal   : Unsupported .version 99.0; current version is '8.4'\nptxas fatal   : Ptx assembly aborted\n"
HEADER = """
#if __GNUC__ > 13

#error -- unsupported GNU version! gcc versions later than 13 are not supported! The nvcc flag can be used to override this

#endif /* __GNUC__ > 13 */

#if (__clang_major__ >= 18) || (__clang_major__ < 3)
#error -- unsupported clang version! clang version must be less than 18 and greater than 3.2 .
"""
METADATA = """Metadata-Version: 2.2
Name: cuda-toolkit
Requires-Dist: nvidia-cublas-cu12==12.4.5.8.*; (sys_platform == 'win32' or sys_platform == 'linux') and extra == 'all'
Requires-Dist: nvidia-cuda-cupti-cu12==12.4.127.*; (sys_platform == 'win32' or sys_platform == 'linux') and extra == 'all'
Requires-Dist: nvidia-cuda-runtime-cu12==12.4.127.*; (sys_platform == 'win32' or sys_platform == 'linux') and extra == 'cudart'
Requires-Dist: nvidia-nvjitlink-cu12<13,>=12.8.93; (sys_platform == 'linux') and extra == 'all'
Requires-Dist: nvidia-npp-cu12==12.2.5.30.*; extra == 'npp'"""


def test_only_the_options_targets_in_order() -> None:
    assert parse_targets(HELP) == ("sm_75", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f")


@pytest.mark.parametrize("page", ["", "ptxas: not found", HELP.replace("--gpu-name", "--other"), HELP.replace("'sm_", "'gpu_")])
def test_a_help_page_without_targets_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="lists no targets"):
        parse_targets(page)


def test_the_ptx_version_of_ptxas() -> None:
    assert str(parse_ptx_isa(REFUSAL)) == "8.4"
    with pytest.raises(ValueError, match="does not name its PTX version"):
        parse_ptx_isa("")


def test_the_newest_gcc_of_the_header() -> None:
    assert parse_host_gcc(HEADER) == 13
    for header in ("", HEADER + HEADER.replace("13", "12")):
        with pytest.raises(ValueError, match="newest gcc"):
            parse_host_gcc(header)


def test_libraries_that_programs_link() -> None:
    names = ["libcudart.so.12", "libcudart_static.a", "libnvblas.so.12", "libcublas.so.12", "libcublasLt.so.12", "libnvrtc.alt.so.12"]
    assert sonames(f"nvidia/x/lib/{name}" for name in names) == ("libcublas.so.12", "libcublasLt.so.12", "libcudart.so.12")


def test_the_libraries_that_a_toolkit_requires() -> None:
    assert pins(METADATA) == {
        "nvidia-cublas-cu12": "12.4.5.8",
        "nvidia-cuda-runtime-cu12": "12.4.127",
        "nvidia-nvjitlink-cu12": "12.8.93",
    }


def test_the_newest_final_wheel_of_each_minor() -> None:
    names = [
        "nvidia_cuda_nvcc_cu12-12.4.99-py3-none-manylinux2014_x86_64.whl",
        "nvidia_cuda_nvcc_cu12-12.4.131-py3-none-manylinux2014_x86_64.whl",
        "nvidia_cuda_nvcc_cu12-12.4.140-py3-none-win_amd64.whl",
        "nvidia_cuda_nvcc-13.4.46rc1-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        "nvidia_cuda_nvcc-0.0.0a0-py2.py3-none-any.whl",
        "cuda_toolkit-13.0.2-py2.py3-none-any.whl",
        "cuda_toolkit-13.0.3.0-py2.py3-none-any.whl",
        "nvidia-cuda-nvcc-cu12-0.0.1.dev5.tar.gz",
    ]
    newest = newest_by_minor(IndexFile(name, "u") for name in names)
    assert {minor: str(found[0]) for minor, found in newest.items()} == {"12.4": "12.4.131", "13.0": "13.0.3.0"}


def test_a_row_keeps_its_drivers_and_cites_the_wheels_once() -> None:
    row = CudaRelease(version("12.4"), version("550.54.14"), None, None, None, None, None, None, (), (), ("notes",), "a note")
    once = updated(row, {"sass": ("sm_90",), "host_gcc": 13})
    assert (once.driver_linux, once.sass, once.host_gcc, once.note) == (version("550.54.14"), ("sm_90",), 13, "a note")
    assert updated(once, {}).source == ("notes", "cuda-wheels")


@pytest.mark.index
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pip's own parts
def test_the_published_compiler_still_agrees(tmp_path: Path) -> None:
    published = Published(tmp_path)
    told = published.compiler("12.9") | published.libraries("12.9")
    (row,) = (row for row in read_table(str(COMPAT), CUDA) if str(row.release) == "12.9.1")
    assert told == {"sass": row.sass, "ptx_isa": row.ptx_isa, "host_gcc": row.host_gcc, "sonames": row.sonames}
    assert published.components(row.release) == {"components": row.components}
    assert "nvidia-cublas-cu12==12.9.1.4" in row.components
