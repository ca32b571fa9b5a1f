from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

import pytest

from gpudoctor.versions import Version
from scripts.refresh import add_ons
from scripts.refresh.common import Release, SourceArchive, Wheel, group_releases, required_in
from scripts.refresh.index import IndexFile
from tests.matrix.samples import version

from .served import OneWheel
from .test_fatbin import SASS_75, SASS_90A, container, entry

SASS_52, SASS_80 = (SASS_75.replace("4b000000", word) for word in ("34000000", "50000000"))
NOTHING: Mapping[str, bytes | str] = MappingProxyType({})


def archive(members: Mapping[str, bytes | str], required: str = "") -> io.BytesIO:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as wheel:
        wheel.writestr("x.dist-info/METADATA", f"Name: x\n{required}\n\n")
        for name, data in members.items():
            wheel.writestr(name, data)
    return content


def read(cache: Path, distribution: str, members: Mapping[str, bytes | str] = NOTHING, required: str = "") -> dict[str, Any]:
    content = archive(members, required)
    release = Release(distribution, Version(1), "linux_x86_64", ("3.12",), IndexFile(f"{distribution}.whl", "u"))
    return add_ons.read(Wheel(release, OneWheel(lambda: zipfile.ZipFile(content)), cache))


def test_vllm_states_its_cuda_and_its_main_library_decides(tmp_path: Path) -> None:
    members: dict[str, bytes | str] = {
        "vllm/_C.abi3.so": container(entry(SASS_80)) + container(entry(SASS_90A)) + b"\0libcudart.so.12\0",
        "vllm/_moe_C.abi3.so": container(entry(SASS_75)),
        "vllm/envs.py": 'VLLM_MAIN_CUDA_VERSION: str = "12.8"\n',
    }
    told = read(tmp_path, "vllm", members, "Requires-Dist: torch==2.8.0\nRequires-Dist: pytest; extra == 'dev'")
    assert (str(told["built_with_cuda"]), told["sass"], told["ptx"]) == ("12.8", ("sm_80", "sm_90a"), ())
    assert (told["accelerator"], told["requires"]) == ("cuda", ("torch==2.8.0",))


def test_the_default_of_a_file_without_architectures_counts_only_beside_others_that_old(tmp_path: Path) -> None:
    library = container(entry(SASS_80)) + container(entry(SASS_52))
    assert read(tmp_path, "vllm", {"vllm/_C.abi3.so": library})["sass"] == ("sm_80",)
    assert add_ons.without_default({"sm_52", "sm_61"}) == {"sm_52", "sm_61"}


def test_xformers_states_its_cuda_as_a_number(tmp_path: Path) -> None:
    members: dict[str, bytes | str] = {"xformers/_C.so": container(entry(SASS_80)), "xformers/cpp_lib.json": '{"version": {"cuda": 1208}}'}
    assert str(read(tmp_path, "xformers", members)["built_with_cuda"]) == "12.8"


def test_bitsandbytes_has_a_library_for_each_cuda(tmp_path: Path) -> None:
    library = container(entry(SASS_80))
    members: dict[str, bytes | str] = {
        f"bitsandbytes/libbitsandbytes_cuda{tag}.so": library + b"\0libcudart.so.%d\0" % (tag // 10) for tag in (130, 118)
    }
    told = read(tmp_path, "bitsandbytes", members)
    assert (told["built_with_cuda"], told["builds"]) == (None, ("cu118", "cu130"))


@pytest.mark.parametrize(
    ("distribution", "library", "required", "cuda"),
    [
        ("ctranslate2", b"\0libcublas.so.12\0", "", "12"),
        ("xgboost", b"", "Requires-Dist: nvidia-nccl-cu13", "13"),
        ("transformer-engine-cu12", b"", "", "12"),
    ],
)
def test_the_major_version_of_cuda(tmp_path: Path, distribution: str, library: bytes, required: str, cuda: str) -> None:
    names = {
        "ctranslate2": "ctranslate2.libs/libctranslate2-1.so.4",
        "xgboost": "xgboost/lib/libxgboost.so",
        "transformer-engine-cu12": "transformer_engine/libtransformer_engine.so",
    }
    told = read(tmp_path, distribution, {names[distribution]: container(entry(SASS_80)) + library}, required)
    assert str(told["built_with_cuda"]) == cuda


def test_the_cudnn_that_ctranslate2_names(tmp_path: Path) -> None:
    library = container(entry(SASS_80)) + b"\0libcublas.so.12\0libcudnn-463fd6d5.so.8.9.7\0libcudnn.so.8\0"
    assert str(read(tmp_path, "ctranslate2", {"ctranslate2.libs/libctranslate2-1.so.4": library})["cudnn"]) == "8"


@pytest.mark.parametrize(
    ("distribution", "members", "accelerator"),
    [
        ("xgboost", {"xgboost/lib/libxgboost.so": b"\x7fELF"}, "cpu"),
        ("lightgbm", {"lightgbm/lib/lib_lightgbm.so": b"\0libOpenCL.so.1\0"}, "opencl"),
        ("lightgbm", {"lightgbm/lib/lib_lightgbm.so": b"\x7fELF"}, "none"),
        ("triton", NOTHING, "none"),
    ],
)
def test_wheels_without_cuda(tmp_path: Path, distribution: str, members: Mapping[str, bytes | str], accelerator: str) -> None:
    assert read(tmp_path, distribution, members)["accelerator"] == accelerator


class OneArchive(OneWheel):
    def file(self, url: str, least: int = 1) -> IO[bytes]:
        assert url
        assert least
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz") as archive:
            for name, text in (
                ("flash_attn-2.8.3/setup.py", "x"),
                ("flash_attn-2.8.3/PKG-INFO", "Name: flash-attn\nRequires-Dist: torch\n\nText"),
            ):
                member = tarfile.TarInfo(name)
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text.encode()))
        content.seek(0)
        return content


def test_a_release_without_wheels_is_read_from_its_source(tmp_path: Path) -> None:
    listed = [IndexFile("flash_attn-2.8.3.tar.gz", "u", ">=3.9"), IndexFile("flash_attn-0.1.0.tar.gz", "u")]
    assert group_releases(listed, add_ons.wanted) == []
    (release,) = group_releases(listed, add_ons.wanted, sources=True)
    assert (release.distribution, release.platform, release.pythons[0]) == ("flash-attn", "any", "3.9")
    told = add_ons.read(SourceArchive(release, OneArchive(lambda: zipfile.ZipFile(archive(NOTHING))), tmp_path))
    assert (told["accelerator"], told["requires"]) == ("sdist", ("torch",))


def test_a_release_with_wheels_for_windows_alone_has_its_source_too() -> None:
    listed = [IndexFile("deepspeed-0.16.3.tar.gz", "u"), IndexFile("deepspeed-0.16.3-cp312-cp312-win_amd64.whl", "u")]
    assert [release.platform for release in group_releases(listed, add_ons.wanted, sources=True)] == ["any", "win_amd64"]


def test_a_wheel_counts_before_the_source_of_its_release() -> None:
    listed = [IndexFile("triton-3.0.0.tar.gz", "u"), IndexFile("triton-3.0.0-cp312-cp312-manylinux2014_x86_64.whl", "u")]
    assert [release.platform for release in group_releases(listed, add_ons.wanted, sources=True)] == ["linux_x86_64"]


def test_a_stable_abi_is_for_the_interpreters_that_the_metadata_allows() -> None:
    (release,) = group_releases([IndexFile("vllm-0.11.0-cp38-abi3-manylinux1_x86_64.whl", "u", "<3.14,>=3.9")], add_ons.wanted)
    assert release.pythons == ("3.9", "3.10", "3.11", "3.12", "3.13")


def test_releases_in_the_table() -> None:
    held = [("vllm", "0.11.0"), ("vllm", "0.0.1"), ("torch", "2.8.0"), ("transformer-engine-cu12", "0.0.0")]
    assert [add_ons.wanted(name, version(text)) for name, text in held] == [True, False, False, False]


def test_requirements_of_an_old_source_are_those_that_setuptools_wrote() -> None:
    text = "torch>=1.2\nninja\n\n[:python_version < '3.7']\ndataclasses\n\n[sparse_attn]\ntriton==1.0.0\n\n[dev:sys_platform == 'linux']\npytest; python_version > '3'\n"
    assert [*required_in(text)] == [
        "Requires-Dist: torch>=1.2",
        "Requires-Dist: ninja",
        "Requires-Dist: dataclasses ; (python_version < '3.7')",
        'Requires-Dist: triton==1.0.0 ; extra == "sparse_attn"',
        "Requires-Dist: pytest ; (python_version > '3') and (sys_platform == 'linux') and extra == \"dev\"",
    ]
