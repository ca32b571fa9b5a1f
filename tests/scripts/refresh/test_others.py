from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from gpudoctor.versions import Version
from scripts.refresh import others as refresh_others
from scripts.refresh.common import Release, Wheel
from scripts.refresh.index import IndexFile
from tests.matrix.samples import version

from .served import OneWheel
from .test_fatbin import PTX_100F, SASS_90A, container, entry

CUPY = {
    "cuda": "12.x",
    "packaging": "pip",
    "nccl": {"version": "2.25.1"},
    "cudnn": {"version": "8.8.1", "filenames": ["libcudnn.so.8.8.1"]},
}
METADATA = "Requires-Dist: numpy<2.6,>=1.22\nRequires-Dist: fastrlock>=0.5\n\n"


def read(cache: Path, distribution: str, members: Mapping[str, bytes | str] = MappingProxyType({})) -> dict[str, str]:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("x.dist-info/METADATA", METADATA)
        for name, data in members.items():
            archive.writestr(name, data)
    release = Release(distribution, Version(1), "linux_x86_64", ("3.12",), IndexFile(f"{distribution}.whl", "u"))
    told = refresh_others.read(Wheel(release, OneWheel(lambda: zipfile.ZipFile(content)), cache))
    assert told.pop("requires") == ("numpy<2.6,>=1.22",)
    return {name: str(value) for name, value in told.items() if value is not None}


@pytest.mark.parametrize(
    ("distribution", "cuda"),
    [("cupy-cuda12x", "12"), ("cupy-cuda102", "10.2"), ("mxnet-cu112", "11.2"), ("mxnet-cu92", "9.2"), ("onnxruntime-gpu", None)],
)
def test_the_cuda_in_a_name(distribution: str, cuda: str | None) -> None:
    found = refresh_others.cuda_in(distribution)
    assert (found and str(found)) == cuda


def test_cupy_states_its_cuda_and_cudnn(tmp_path: Path) -> None:
    told = read(tmp_path, "cupy-cuda12x", {"cupy/.data/_wheel.json": json.dumps(CUPY)})
    assert told == {"accelerator": "cuda", "built_with_cuda": "12", "cudnn": "8.8.1", "source": "('cupy-wheels',)"}


def test_cupy_for_jetson_and_without_cudnn() -> None:
    told = refresh_others.parse_cupy(json.dumps({"cuda": "10.2-jetson"}))
    assert (str(told["built_with_cuda"]), told["cudnn"]) == ("10.2", None)


def test_mxnet_by_the_code_of_its_library(tmp_path: Path) -> None:
    told = read(tmp_path, "mxnet-cu112", {"mxnet/libmxnet.so": container(entry(SASS_90A))})
    assert (told["built_with_cuda"], told["sass"], told["ptx"]) == ("11.2", "('sm_90a',)", "()")


def test_paddle_without_a_stated_cuda_by_its_compiler(tmp_path: Path) -> None:
    told = read(tmp_path, "paddlepaddle-gpu", {"paddle/fluid/core_avx.so": container(entry(SASS_90A), entry(PTX_100F))})
    assert (told["built_with_cuda"], told["ptx"]) == ("13.0", "('compute_100f',)")


def test_onnxruntime_by_its_providers_needs(tmp_path: Path) -> None:
    library = b"\0libcudnn.so.8\0libcublas.so.11\0libcudart.so.11.0\0"
    told = read(tmp_path, "onnxruntime-gpu", {"onnxruntime/capi/libonnxruntime_providers_cuda.so": library})
    assert (told["built_with_cuda"], told["cudnn"]) == ("11", "8")


def test_onnxruntime_by_a_name_deep_in_the_library_and_by_its_code(tmp_path: Path) -> None:
    library = bytes(9 << 20) + container(entry(SASS_90A)) + b"\0libcudart.so.11.0\0libcudnn.so.8\0"
    told = read(tmp_path, "onnxruntime-gpu", {"onnxruntime/capi/libonnxruntime_providers_cuda.so": library})
    assert (told["built_with_cuda"], told["cudnn"], told["sass"], told["ptx"]) == ("11", "8", "('sm_90a',)", "()")


@pytest.mark.parametrize(("named", "cuda"), [(b"cudart64_110.dll", "11"), (b"cudart64_12.dll", "12"), (b"cudart64_13.dll", "13")])
def test_onnxruntime_for_windows_by_the_dll_that_it_loads(tmp_path: Path, named: bytes, cuda: str) -> None:
    library = b"MZ\0" + named + b"\0cudnn64_9.dll\0"
    told = read(tmp_path, "onnxruntime-gpu", {"onnxruntime/capi/onnxruntime_providers_cuda.dll": library})
    assert (told["built_with_cuda"], told["cudnn"]) == (cuda, "9")


def test_onnxruntime_by_its_own_more_exact_version(tmp_path: Path) -> None:
    library: bytes | str = b"\0libcudnn.so.9\0libcudart.so.12\0"
    module: bytes | str = "package_name = 'onnxruntime-gpu'\ncuda_version = '12.8'\n"
    members = {"onnxruntime/capi/libonnxruntime_providers_cuda.so": library, "onnxruntime/capi/build_and_package_info.py": module}
    told = read(tmp_path, "onnxruntime-gpu", members)
    assert (told["built_with_cuda"], told["cudnn"]) == ("12.8", "9")


@pytest.mark.parametrize(("named", "abi"), [(b"numpy.core.multiarray", "1"), (b"numpy._core._multiarray_umath numpy.core", "2")])
def test_the_numpy_that_onnxruntime_was_compiled_for(tmp_path: Path, named: bytes, abi: str) -> None:
    told = read(tmp_path, "onnxruntime-gpu", {"onnxruntime/capi/onnxruntime_pybind11_state.cpython-312.so": named})
    assert told["numpy_abi"] == abi


def test_paddle(tmp_path: Path) -> None:
    told = read(tmp_path, "paddlepaddle-gpu", {"paddle/version/__init__.py": "cuda_version = '11.8'\ncudnn_version = '8.6.0'\n"})
    assert (told["built_with_cuda"], told["cudnn"], told["source"]) == ("11.8", "8.6.0", "('paddlepaddle-gpu-wheels',)")
    assert "built_with_cuda" not in read(tmp_path / "old", "paddlepaddle-gpu", {"paddle/version.py": "full_version = '2.0.0'"})


@pytest.mark.parametrize(
    ("distribution", "accelerator"),
    [("tensorflow-metal", "metal"), ("tensorflow-directml-plugin", "directml")],
)
def test_distributions_without_cuda(tmp_path: Path, distribution: str, accelerator: str) -> None:
    assert read(tmp_path, distribution) == {"accelerator": accelerator}


@pytest.mark.parametrize(
    ("distribution", "requirement", "added"),
    [
        ("jax-metal", "jax>=0.4.34", ('jax<0.5.1;extra=="beside"',)),
        ("jax-metal", "jax==0.4.11", ()),
        ("jax-metal", "jaxlib>=0.4.34", ()),
        ("cupy-cuda12x", "jax>=0.4.34", ()),
    ],
)
def test_a_framework_that_a_plugin_is_known_to_fail_beside(distribution: str, requirement: str, added: tuple[str, ...]) -> None:
    assert refresh_others.bounded(distribution, (requirement,)) == (*added, requirement)


@pytest.mark.parametrize(
    ("distribution", "release", "held"),
    [
        ("cupy-cuda112", "10.6.0", True),
        ("cupy-cuda112", "10.5.0", True),
        ("cupy-cuda80", "4.0.0", True),
        ("cupy-cuda12x", "12.0.0", True),
        ("mxnet-cu112", "1.4.1", False),
        ("paddlepaddle-gpu", "2.0.0", True),
        ("tensorflow-metal", "0.1.0", True),
        ("keras", "2.15.0", True),
        ("tf-keras", "2.16.0", True),
    ],
)
def test_releases_in_the_table(distribution: str, release: str, held: bool) -> None:
    assert refresh_others.wanted(distribution, version(release)) is held


@pytest.mark.parametrize("distribution", ["keras", "tf-keras"])
def test_keras_is_pure_python(distribution: str, tmp_path: Path) -> None:
    assert read(tmp_path, distribution) == {"accelerator": "none", "source": f"('{distribution}-wheels',)"}


def test_keras_before_2_has_no_row() -> None:
    assert [refresh_others.wanted("keras", version(text)) for text in ("1.2.2", "2.0.7", "3.15.1")] == [False, True, True]
