from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gpudoctor import versions as parsing
from gpudoctor.derive.specifiers import parse_requirement
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.tables import RELEASE_TABLES
from gpudoctor.versions import Version
from scripts.refresh import torch as refresh_torch
from scripts.refresh.common import Release, Wheel
from scripts.refresh.index import IndexFile
from tests.shipped import shared_matrix

from .served import OneWheel
from .test_fatbin import PTX_100F, SASS_75, SASS_90A, container, entry

# torch/version.py and METADATA of torch 2.8.0 for Linux on x86_64, and of 2.15.0 for Windows
VERSION_PY = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']
__version__ = '2.8.0+cu128'
debug = False
cuda: Optional[str] = '12.8'
git_version = 'a1cb3cc05d46d198467bebbb6e8fba50a325d4e7'
hip: Optional[str] = None
"""
METADATA = """Metadata-Version: 2.1
Name: torch
Requires-Python: >=3.9.0
Requires-Dist: filelock
Requires-Dist: nvidia-cudnn-cu12==9.10.2.21; platform_system == "Linux" and platform_machine == "x86_64"
Requires-Dist: nvidia-nccl-cu12==2.27.3; platform_system == "Linux" and platform_machine == "x86_64"
Requires-Dist: triton==3.4.0; platform_system == "Linux" and platform_machine == "x86_64"
Requires-Dist: setuptools; python_version >= "3.12"

PyTorch
"""
LISTED = b"\0sm_80\0sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120\0numpy.core._multiarray_umath\0numpy._core._multiarray_umath\0"


def wheel(cache: Path, distribution: str, platform: str, members: dict[str, bytes]) -> Wheel:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    release = Release(distribution, Version(2, 8), platform, ("3.12",), IndexFile(f"{distribution}-2.8.0-{platform}.whl", "u"))
    return Wheel(release, OneWheel(lambda: zipfile.ZipFile(content)), cache)


def torch(cache: Path, platform: str, members: dict[str, bytes], version_py: str = VERSION_PY) -> dict[str, Any]:
    common = {"torch/version.py": version_py.encode(), "torch-2.8.0.dist-info/METADATA": METADATA.encode()}
    return refresh_torch.read(wheel(cache, "torch", platform, common | members))


def test_torch_for_linux(tmp_path: Path) -> None:
    told = torch(tmp_path, "linux_x86_64", {"torch/lib/libtorch_python.so": LISTED})
    assert (told["accelerator"], str(told["built_with_cuda"]), str(told["cudnn"])) == ("cuda", "12.8", "9.10.2.21")
    assert (told["sass"][0], told["sass"][-1], len(told["sass"]), told["ptx"]) == ("sm_70", "sm_120", 7, ())
    assert told["requires"] == ("nvidia-cudnn-cu12==9.10.2.21", "nvidia-nccl-cu12==2.27.3", "triton==3.4.0")
    assert told["numpy_abi"] == 2


def test_cached_answers_are_not_read_again(tmp_path: Path) -> None:
    first = torch(tmp_path, "linux_x86_64", {"torch/lib/libtorch_python.so": LISTED})
    assert torch(tmp_path, "linux_x86_64", {}) == first


def test_torch_on_the_index_for_windows_is_for_the_cpu(tmp_path: Path) -> None:
    members = {"torch/lib/torch_python.dll": b"numpy.core._multiarray_umath"}
    told = torch(tmp_path, "win_amd64", members, VERSION_PY.replace("+cu128", "+cpu").replace("'12.8'", "None"))
    assert (told["accelerator"], told["built_with_cuda"], told["sass"]) == ("cpu", None, None)
    assert (told["requires"], told["numpy_abi"]) == ((), 1)


@pytest.mark.parametrize(
    ("needed", "accelerator"),
    [(b"\0/System/Library/Frameworks/MetalPerformanceShaders.framework/Versions/A/", "metal"), (b"libSystem.B.dylib", "cpu")],
)
def test_torch_for_macos_has_metal_where_its_library_needs_it(tmp_path: Path, needed: bytes, accelerator: str) -> None:
    members = {"torch/lib/libtorch_cpu.dylib": needed, "torch/lib/libtorch_python.dylib": b"numpy.core._multiarray_umath"}
    assert torch(tmp_path, "macos_arm64", members, "cuda = None")["accelerator"] == accelerator


def test_torch_with_several_lists_leaves_the_architectures_out(tmp_path: Path) -> None:
    told = torch(tmp_path, "linux_x86_64", {"torch/lib/libtorch_python.so": b"sm_75 sm_80 sm_90\0sm_50 sm_60 sm_70"})
    assert (told["sass"], told["ptx"], told["numpy_abi"]) == (None, None, None)


def test_torch_with_two_pins_of_cudnn_leaves_it_out() -> None:
    required = ("nvidia-cudnn-cu12==9.1", "nvidia-cudnn-cu13==9.2")
    assert refresh_torch.torch_facts({"cuda": "13.0"}, required, None, metal=False)["cudnn"] is None


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"torch/lib/libtorch_python.so": b""}, "does not state its CUDA version"),
        ({}, "no torch_python library"),
    ],
)
def test_torch_without_its_facts_is_reported(tmp_path: Path, members: dict[str, bytes], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        torch(tmp_path, "linux_x86_64", members, "hip = None")


def test_nothing_in_version_py_is_run() -> None:
    assert refresh_torch.parse_version_py("from x import y\na = print('run')\nif y() > 0:\n    b = 1\nc = '1'") == {"c": "1"}


def extension(cache: Path, platform: str, version: str, modules: dict[str, bytes]) -> dict[str, Any]:
    metadata = b"Name: torchvision\nRequires-Dist: numpy\nRequires-Dist: torch (==2.8.0)\nRequires-Dist: pillow\n\n"
    members = {"torchvision/version.py": f"__version__ = '{version}'\n".encode(), "torchvision-0.23.0.dist-info/METADATA": metadata}
    return refresh_torch.read(wheel(cache, "torchvision", platform, members | modules))


def test_torchvision_names_its_cuda_and_its_torch(tmp_path: Path) -> None:
    module = b"\x7fELF" + container(entry(SASS_90A), entry(PTX_100F)) + b"libcudart.so.12\0"
    other = b"\x7fELF" + container(entry(SASS_75))
    told = extension(
        tmp_path,
        "linux_x86_64",
        "0.23.0+cu128",
        {"torchvision/_C.so": module, "torchvision/a.so": other, "torchvision.libs/b.so": other[:40]},
    )
    assert (told["accelerator"], str(told["built_with_cuda"]), told["requires"]) == ("cuda", "12.8", ("numpy", "torch==2.8.0"))
    assert (told["sass"], told["ptx"]) == (("sm_75", "sm_90a"), ("compute_100f",))


def test_old_torchvision_names_its_cuda_by_the_library_it_opens(tmp_path: Path) -> None:
    module = b"\x7fELF" + container(entry(SASS_75)) + b"\0libcudart-80664282.so.10.2\0"
    told = extension(tmp_path, "linux_x86_64", "0.9.0", {"torchvision/_C.so": module})
    assert (told["accelerator"], str(told["built_with_cuda"]), told["sass"]) == ("cuda", "10.2", ("sm_75",))


@pytest.mark.parametrize("version", ["0.23.0+cpu", "0.9.0"])
def test_torchvision_for_the_cpu(tmp_path: Path, version: str) -> None:
    told = extension(tmp_path, "win_amd64", version, {"torchvision/_C.pyd": b"MZ"})
    assert (told["accelerator"], told["built_with_cuda"], told["sass"]) == ("cpu", None, None)


@pytest.mark.parametrize(
    ("local", "cuda"), [("cu128", "12.8"), ("cu92", "9.2"), ("cu100", "10.0"), ("cpu", None), ("", None), ("rocm6.4", None)]
)
def test_a_local_version_names_a_cuda(local: str, cuda: str | None) -> None:
    found = refresh_torch.cuda_of(local)
    assert (found and str(found)) == cuda


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


def newest_minors(matrix: Matrix, count: int) -> list[Version]:
    """The newest release of each of the newest minors that the table holds for Linux on x86_64."""
    newest = {row.release[:2]: row.release for row in matrix.releases("torch", "linux_x86_64")}
    return [newest[minor] for minor in sorted(newest)][-count:]


@pytest.mark.index
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pip's own parts
def test_the_newest_three_minor_versions_agree_with_their_wheels(shipped: Matrix, tmp_path: Path) -> None:
    from scripts.refresh.common import group_releases, merged_row  # noqa: PLC0415  needs pip's session only here
    from scripts.refresh.index import Index  # noqa: PLC0415

    index, minors = Index(), newest_minors(shipped, 3)
    releases = group_releases(index.files("torch"), lambda _, release: release in minors)
    assert {release.release for release in releases} == set(minors)
    table = RELEASE_TABLES["torch"]
    rows = {table.key(row): row for row in shipped.rows(table)}
    with ThreadPoolExecutor(8) as pool:
        told = pool.map(lambda release: refresh_torch.read(Wheel(release, index, tmp_path)), releases)
    for release, facts in zip(releases, told, strict=True):
        known = rows[release[:3]]
        assert merged_row(release, facts, known) == known
        assert release.platform != "linux_x86_64" or (known.sass and known.built_with_cuda and known.numpy_abi == 2)


@pytest.mark.parametrize(
    ("wheel", "platform", "built", "numpy"),
    [
        ("1.8.0", "linux_x86_64", ("cuda", "10.2"), 1),
        ("2.2.2", "linux_x86_64", ("cuda", "12.1"), 1),
        ("2.3.0", "linux_x86_64", ("cuda", "12.1"), 2),
        ("2.3.1", "win_amd64", ("cpu", None), 1),
        ("2.8.0", "win_amd64", ("cpu", None), 2),
        ("2.10.0", "linux_aarch64", ("cpu", None), 2),
        ("2.11.0", "linux_aarch64", ("cuda", "13.0"), 2),
        ("2.11.0", "linux_x86_64", ("cuda", "13.0"), 2),
        ("2.8.0", "macos_arm64", ("metal", None), 2),
    ],
)
def test_shipped_torch(shipped: Matrix, wheel: str, platform: str, built: tuple[str, str | None], numpy: int) -> None:
    row = shipped.resolve("torch", wheel, platform).row
    assert row is not None
    assert (row.accelerator, row.built_with_cuda and str(row.built_with_cuda)) == built
    assert row.numpy_abi == numpy


def test_shipped_torch_has_wheels_for_the_interpreters_of_the_file_list(shipped: Matrix) -> None:
    row = shipped.resolve("torch", "2.5.1").row
    assert row is not None
    assert row.pythons == ("3.9", "3.10", "3.11", "3.12", "3.13")


def test_shipped_architectures_start_at_the_expected_one(shipped: Matrix) -> None:
    first = {release: (shipped.resolve("torch", release).row or pytest.fail(release)).sass for release in ("2.0.1", "2.7.1", "2.8.0")}
    assert {release: names and names[0] for release, names in first.items()} == {"2.0.1": "sm_37", "2.7.1": "sm_50", "2.8.0": "sm_70"}


@pytest.mark.parametrize(
    ("wheel", "platform", "versions", "oldest"),
    [
        ("2.8.0+cu126", "linux_x86_64", ("12.6", "9.10.2.21"), "sm_50"),
        ("2.8.0+cu128", "linux_x86_64", ("12.8", "9.10.2.21"), "sm_70"),
        ("2.7.1+cu128", "linux_x86_64", ("12.8", "9.7.1.26"), "sm_75"),
        ("2.12.1+cu126", "linux_x86_64", ("12.6", "9.10.2.21"), "sm_50"),
        ("2.3.1+cu118", "win_amd64", ("11.8", "8.7.0.84"), "sm_37"),
        ("2.9.1+cu128", "win_amd64", ("12.8", "9.10.2.21"), "sm_70"),
        ("2.6.0+cu118", "linux_x86_64", ("11.8", "9.1.0.70"), "sm_37"),
    ],
)
def test_shipped_other_builds(shipped: Matrix, wheel: str, platform: str, versions: tuple[str, str | None], oldest: str | None) -> None:
    row = shipped.resolve("torch", wheel, platform).row
    assert row is not None
    assert row.accelerator == "cuda"
    assert (str(row.built_with_cuda), row.cudnn and str(row.cudnn)) == versions
    assert (row.sass and row.sass[0]) == oldest
    assert all(shipped.source(name) for name in row.source)


def test_the_other_builds_are_not_on_the_index(shipped: Matrix) -> None:
    from gpudoctor.matrix.tables import TORCH_BUILDS  # noqa: PLC0415

    for build in shipped.rows(TORCH_BUILDS):
        releases = [row for row in shipped.releases("torch", build.platform) if row.release[:2] == build.release[:2]]
        cuda = refresh_torch.cuda_of(build.local)
        assert releases, build
        assert cuda is not None
        for row in releases:
            assert row.built_with_cuda is None or row.built_with_cuda.short != cuda.short, build
        assert any(not row.builds or build.local in row.builds for row in releases), build


def test_what_the_other_builds_require_of_nvidia_is_of_their_cuda_and_cudnn(shipped: Matrix) -> None:
    """The two columns have sources that know nothing of each other, build scripts or logs and PyTorch's release matrix, but for 2.6 and 2.11+cu128."""
    from gpudoctor.matrix.tables import TORCH_BUILDS  # noqa: PLC0415

    compared = 0
    for build in shipped.rows(TORCH_BUILDS):
        pins = {wanted.name: wanted.specifier for wanted in map(parse_requirement, build.nvidia or ()) if wanted is not None}
        cuda = refresh_torch.cuda_of(build.local)
        assert cuda is not None
        libraries = {name: pin for name, pin in pins.items() if name.startswith("nvidia-")}
        assert all(name.rpartition("-cu")[2] == str(cuda.major) for name in libraries if "-cu1" in name), build
        named = [pin for name, pin in pins.items() if name.startswith(("nvidia-cuda-runtime", "cuda-toolkit"))]
        assert not pins or (len(named) == 1 and named[0].startswith(f"=={cuda.short}.")), build
        cudnn = pins.get(f"nvidia-cudnn-cu{cuda.major}")
        assert cudnn is None or cudnn == f"=={build.cudnn}", build
        compared += cudnn is not None
    assert compared > 15


@pytest.mark.parametrize(
    ("wheel", "torch"),
    [("torchvision==0.23.0", "torch==2.8.0"), ("torchvision==0.9.0", "torch==1.8.0"), ("torchaudio==2.0.2", "torch==2.0.1")],
)
def test_shipped_torchvision_and_torchaudio_name_their_torch(shipped: Matrix, wheel: str, torch: str) -> None:
    distribution, _, version = wheel.partition("==")
    row = shipped.resolve(distribution, version).row
    assert row is not None
    assert torch in row.requires
    pin = parsing.parse_version(torch.removeprefix("torch=="))
    built = shipped.resolve("torch", str(pin)).row
    assert built is not None
    assert row.built_with_cuda == built.built_with_cuda


def test_every_torchvision_was_built_with_the_cuda_of_its_torch(shipped: Matrix) -> None:
    for row in (*shipped.releases("torchvision", "linux_x86_64"), *shipped.releases("torchaudio", "linux_x86_64")):
        pins = [text.removeprefix("torch==") for text in row.requires if text.startswith("torch==")]
        torch = shipped.resolve("torch", pins[0]).row if pins else None
        if torch is not None and row.accelerator == "cuda":
            assert (row.built_with_cuda and row.built_with_cuda.short) == (torch.built_with_cuda and torch.built_with_cuda.short), row
