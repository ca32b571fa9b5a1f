from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.matrix.tables import CUDNN
from gpudoctor.matrix_files import read_table
from scripts.refresh.common import COMPAT, Release, Wheel
from scripts.refresh.cudnn import Published, libraries, published, read, row_of
from scripts.refresh.fatbin import Code
from scripts.refresh.index import Index, IndexFile
from tests.matrix.samples import version

NAMES_9 = [
    "nvidia/cudnn/lib/__init__.py",
    "nvidia/cudnn/lib/libcudnn.so.9",
    "nvidia/cudnn/lib/libcudnn_graph.so.9",
    "nvidia/cudnn/lib/libcudnn_ops.so.9",
]
NAMES_8 = ["nvidia/cudnn/lib/libcudnn.so.8", "nvidia/cudnn/lib/libcudnn_ops_infer.so.8", "nvidia/cudnn/lib/libcudnn_ops_train.so.8"]


NAMES_OF_WINDOWS = ["nvidia/cudnn/bin/cudnn64_9.dll", "nvidia/cudnn/bin/cudnn_graph64_9.dll", "nvidia/cudnn/bin/cudnn_ops64_9.dll"]


def test_final_wheels_of_each_platform_oldest_first() -> None:
    names = [
        "nvidia_cudnn_cu12-9.10.0.56-py3-none-manylinux_2_27_x86_64.whl",
        "nvidia_cudnn_cu12-9.9.0.52-py3-none-manylinux_2_27_x86_64.whl",
        "nvidia_cudnn_cu12-9.9.0.52-py3-none-manylinux_2_27_aarch64.whl",
        "nvidia_cudnn_cu12-9.11.0.98-py3-none-win_amd64.whl",
        "nvidia_cudnn_cu12-9.26.0.33.dev63203437-py3-none-manylinux_2_27_x86_64.whl",
        "nvidia_cudnn_cu13-0.0.0a0-py2.py3-none-any.whl",
        "nvidia_cudnn_cu12-9.0.0.312.tar.gz",
        "nvidia_cudnn_cu12-9.0.0.312.post1-py3-none-manylinux2014_aarch64.whl",
        "nvidia_cudnn_cu13-9.26.1.1-py3-none-win_arm64.whl",
    ]
    found = published(IndexFile(name, "u") for name in names)
    assert [(one.cuda, str(one.release), one.platform) for one in found] == [
        (12, "9.0.0.312", "linux_aarch64"),
        (12, "9.9.0.52", "linux_aarch64"),
        (12, "9.9.0.52", "linux_x86_64"),
        (12, "9.10.0.56", "linux_x86_64"),
        (12, "9.11.0.98", "win_amd64"),
    ]


def test_the_later_build_of_a_wheel_built_twice() -> None:
    names = ["nvidia_cudnn_cu11-8.5.0.96-py3-none-manylinux1_x86_64.whl", "nvidia_cudnn_cu11-8.5.0.96-2-py3-none-manylinux1_x86_64.whl"]
    assert [one.file.filename for one in published(IndexFile(name, "u") for name in names)] == [names[1]]


def test_the_library_that_decides() -> None:
    assert libraries(NAMES_9) == ("nvidia/cudnn/lib/libcudnn_ops.so.9", "libcudnn.so.9")
    assert libraries(NAMES_8) == ("nvidia/cudnn/lib/libcudnn_ops_infer.so.8", "libcudnn.so.8")
    assert libraries(NAMES_OF_WINDOWS) == ("nvidia/cudnn/bin/cudnn_ops64_9.dll", "cudnn64_9.dll")


@pytest.mark.parametrize("names", [[], NAMES_9[:3], NAMES_9[2:], NAMES_9 + NAMES_8])
def test_another_kind_of_wheel_is_refused(names: list[str]) -> None:
    with pytest.raises(ValueError, match="no libcudnn_ops or no libcudnn, or several"):
        libraries(names)


def test_a_row_names_its_wheel_as_source() -> None:
    one = Published(12, version("9.11.0.98"), "linux_aarch64", IndexFile("f", "u"))
    row = row_of(one, "libcudnn.so.9", Code(("sm_75", "sm_90a"), ()))
    assert CUDNN.dump(row) == ["9.11.0.98", "12", "linux_aarch64", "libcudnn.so.9", "sm_75 sm_90a", "none", "cudnn-wheels", ""]


@pytest.mark.index
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pip's own parts
def test_a_published_wheel_still_agrees(tmp_path: Path) -> None:
    index = Index()
    (one,) = (
        one for one in published(index.files("nvidia-cudnn-cu13")) if (str(one.release), one.platform) == ("9.12.0.46", "linux_x86_64")
    )
    wheel = Wheel(Release("nvidia-cudnn-cu13", one.release, one.platform, (), one.file), index, tmp_path)
    (known,) = (row for row in read_table(str(COMPAT), CUDNN) if CUDNN.key(row) == (one.release, one.cuda, one.platform))
    assert row_of(one, *read(wheel)) == known
