"""Which required packages a wheel finds, with a library linked by gcc and packages on our own index."""

from __future__ import annotations

import io
import subprocess
import zipfile
from pathlib import Path

import pytest

from gpudoctor.versions import Version
from scripts.refresh.common import Release, Wheel
from scripts.refresh.index import IndexFile
from scripts.refresh.search_path import folders, held, unreachable

from .served import OneWheel

OPENER = "/tensorflow/libtensorflow_framework.so.2"
REQUIRED = (
    "keras>=3.0.0",
    'nvidia-cublas-cu12<13.0,>=12.5;extra=="and-cuda"',
    'nvidia-cuda-nvcc-cu12<13.0;extra=="and-cuda"',
    'nvidia-cusolver-cu12==11.6.3.83;extra=="and-cuda"',
)
PACKAGES = {
    "nvidia_cublas_cu12-12.4.0.1": ("nvidia/elsewhere/lib/libcublas.so.12",),
    "nvidia_cublas_cu12-12.9.1.4": ("nvidia/cublas/lib/libcublas.so.12", "nvidia/cublas/lib/libcublasLt.so.12"),
    "nvidia_cublas_cu12-13.0.0.1": ("nvidia/elsewhere/lib/libcublas.so.12",),
    "nvidia_cuda_nvcc_cu12-12.9.86": ("nvidia/cuda_nvcc/bin/ptxas", "nvidia/cuda_nvcc/nvvm/lib64/libnvvm.so.4"),
    "nvidia_cusolver_cu12-11.6.3.83": ("nvidia/cusolver/lib/libcusolver.so.11",),
}


class Packages(OneWheel):
    """An index with TensorFlow and the packages."""

    def __init__(self, tensorflow: bytes) -> None:
        super().__init__(lambda: zipfile.ZipFile(""))
        self._tensorflow = tensorflow

    def files(self, project: str) -> list[IndexFile]:
        begins = f"{project.replace('-', '_')}-"
        return [IndexFile(f"{name}-py3-none-manylinux1_x86_64.whl", name) for name in PACKAGES if name.startswith(begins)]

    def wheel(self, url: str, least: int = 1) -> zipfile.ZipFile:
        members = {"tensorflow/libtensorflow_framework.so.2": self._tensorflow} if url == "tf" else dict.fromkeys(PACKAGES[url], b"")
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        assert least
        return zipfile.ZipFile(content)


def tensorflow(tmp_path: Path, library: bytes) -> Wheel:
    file = IndexFile("tensorflow-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl", "tf")
    return Wheel(Release("tensorflow", Version(2, 21), "linux_x86_64", ("3.11",), file), Packages(library), tmp_path)


def linked(folder: Path, path: str) -> bytes:
    output = folder / "linked.so"
    command = ["gcc", "-x", "c", "-", "-shared", "-o", str(output), f"-Wl,--enable-new-dtags,-rpath,{path}"]
    subprocess.run(command, input=b"", check=True)
    return output.read_bytes()


@pytest.mark.parametrize(
    ("path", "lost"),
    [
        ("$ORIGIN/../nvidia/cublas/lib:$ORIGIN/../nvidia/cusolver/lib", ()),
        ("$ORIGIN/../../nvidia/cusolver/lib:$ORIGIN/../nvidia/cublas/lib", ("nvidia-cusolver-cu12",)),
        ("$ORIGIN/", ("nvidia-cublas-cu12", "nvidia-cusolver-cu12")),
    ],
)
def test_the_packages_outside_the_search_path_are_named(tmp_path: Path, path: str, lost: tuple[str, ...]) -> None:
    assert unreachable(tensorflow(tmp_path, linked(tmp_path, path)), REQUIRED, OPENER) == lost


def test_a_wheel_without_nvidia_packages_or_the_library_has_no_answer(tmp_path: Path) -> None:
    wheel = tensorflow(tmp_path, b"")
    assert unreachable(wheel, ("keras>=3.0.0",), OPENER) is None
    assert unreachable(wheel, REQUIRED, "/tensorflow/libother.so") is None


def test_an_invalid_library_has_no_answer(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not an ELF file"):
        unreachable(tensorflow(tmp_path, b"no library"), REQUIRED, OPENER)


def test_a_package_without_a_matching_wheel_is_reported(tmp_path: Path) -> None:
    wheel = tensorflow(tmp_path, linked(tmp_path, "$ORIGIN"))
    with pytest.raises(ValueError, match=r"nvidia-cusolver-cu12==99 has no wheel for linux_x86_64"):
        unreachable(wheel, ("nvidia-cusolver-cu12==99",), OPENER)


def test_only_folders_of_site_packages_count() -> None:
    assert folders("$ORIGIN/../../nvidia/a/lib:$ORIGIN/../nvidia/b/lib:/usr/lib:$ORIGIN/", "tensorflow") == {"nvidia/b/lib", "tensorflow"}
    assert held(["nvidia/cudnn/lib/libcudnn.so.9", "nvidia/curand/lib/libcurand.so.10", "nvidia/nccl/lib/libnccl.so.2"]) == [
        "nvidia/cudnn/lib"
    ]
