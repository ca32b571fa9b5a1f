"""The versions that headers of CUDA and cuDNN define."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Fact
from tests.read.reading import read


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 0\n--\n#define CUDNN_VERSION (CUDNN_MAJOR * 10000)\n",
            "9.1.0",
        ),
        ("#define CUDNN_MAJOR 8\n#define CUDNN_PATCHLEVEL 4\n", "8"),
        ("/usr/include/cudnn.h:#define CUDNN_MAJOR      7\n/usr/include/cudnn.h:#define CUDNN_MINOR      6\n", "7.6"),
    ],
)
def test_the_parts_of_cudnns_header_are_one_release(text: str, version: str, matrix: Matrix) -> None:
    found = read(text, matrix).system_cudnn
    assert isinstance(found, Fact)
    assert found.value == version


@pytest.mark.parametrize("times", [1, 2])
def test_parts_without_the_major_version_tell_nothing(times: int, matrix: Matrix) -> None:
    assert not isinstance(read("#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 5\n" * times, matrix).system_cudnn, Fact)


def test_the_number_in_cudas_header_is_a_toolkit(matrix: Matrix) -> None:
    toolkits = read("#define CUDART_VERSION  11020\n", matrix).toolkits
    assert isinstance(toolkits, tuple)
    assert [toolkit.toolkit_cuda.value for toolkit in toolkits if isinstance(toolkit.toolkit_cuda, Fact)] == ["11.2"]
