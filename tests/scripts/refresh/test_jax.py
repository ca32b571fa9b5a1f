from __future__ import annotations

import io
import zipfile
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.versions import Version
from scripts.refresh import jax as refresh_jax
from scripts.refresh.common import Release, Wheel
from scripts.refresh.index import IndexFile
from tests.shipped import shared_matrix

from .served import OneWheel
from .test_fatbin import PTX_100F, SASS_90A, container, entry

# The three functions in _versions.so of jax-cuda12-plugin 0.8.0 and 0.4.30 (x86_64) and of jax-cuda13-plugin 0.12.0 (aarch64)
X86_64_080 = bytes.fromhex(
    "e837090500e842090500cccc554889e5bf3a2f0000e8420905005dc34889c7e8"
    "d8ffffffcccccccccccccccc554889e5bfb0620100e8220905005dc34889c7e8"
    "b8ffffffcccccccccccccccc554889e5bf45d80100e8020905005dc34889c7e8"
)
X86_64_0430 = bytes.fromhex(
    "e847c6ffffe832c5ffff6690554889e5bffe2e0000e872ccffff5dc34889c7e8"
    "d8ffffff0f1f840000000000554889e5bff55f0100e852ccffff5dc34889c7e8"
    "b8ffffff0f1f840000000000554889e5bff0d50100e832ccffff5dc34889c7e8"
)
AARCH64_0120 = bytes.fromhex(
    "2a8501942d850194fd7bbfa9fd030091005986522d850194fd7bc1a8c0035fd6"
    "f6ffff97fd7bbfa9fd03009100888c522000a07225850194fd7bc1a8c0035fd6"
    "eeffff97fd7bbfa9fd030091007a9f522000a0721d850194fd7bc1a8c0035fd6"
)
PLUGIN = """Metadata-Version: 2.4
Name: jax-cuda12-plugin
Requires-Dist: jax-cuda12-pjrt==0.8.0
Provides-Extra: with-cuda
Requires-Dist: nvidia-cublas-cu12>=12.1.3.1; sys_platform == "linux" and extra == "with-cuda"
Requires-Dist: nvidia-cudnn-cu12<10.0,>=9.8; sys_platform == "linux" and extra == "with-cuda"
"""
JAX = """Metadata-Version: 2.4
Name: jax
Requires-Dist: jaxlib<=0.4.30,>=0.4.27
Requires-Dist: ml_dtypes>=0.2.0
Requires-Dist: opt_einsum
Requires-Dist: numpy>=1.26.0; python_version >= "3.12"
Requires-Dist: jaxlib==0.4.27; extra == "minimum-jaxlib"
Requires-Dist: jaxlib==0.4.29; extra == "ci"
Requires-Dist: jaxlib<=0.4.30,>=0.4.30; extra == "tpu"
Requires-Dist: jaxlib==0.4.30; extra == "cuda12"
Requires-Dist: jax-cuda12-plugin[with_cuda]<=0.4.30,>=0.4.30; extra == "cuda12"
Requires-Dist: jax-cuda12-plugin==0.4.30; extra == "cuda12_local"
Requires-Dist: jax-rocm60-plugin<=0.4.30,>=0.4.30; extra == "rocm"
"""


@pytest.mark.parametrize(
    ("module", "platform", "cuda", "cudnn"),
    [
        (X86_64_080, "linux_x86_64", "12.9", "9.8.0"),
        (X86_64_0430, "linux_x86_64", "12.3", "9.1.1"),
        (AARCH64_0120, "linux_aarch64", "13.0", "9.12.0"),
    ],
)
def test_the_build_versions_of_a_plugin(module: bytes, platform: str, cuda: str, cudnn: str) -> None:
    found = refresh_jax.parse_versions(b"\x7fELF" + bytes(60) + module + b"\xbf\x02\x30\0\0\xe8", platform)
    assert found is not None
    assert (str(found[0]), str(found[1])) == (cuda, cudnn)


@pytest.mark.parametrize(
    "module", [b"", X86_64_080[:64], AARCH64_0120, X86_64_080 + X86_64_0430, X86_64_080.replace(b"\x45\xd8\x01", b"\x45\xd8\x02")]
)
def test_a_module_without_versions_is_not_guessed(module: bytes) -> None:
    assert refresh_jax.parse_versions(module, "linux_x86_64") is None


@given(st.binary(max_size=300), st.sampled_from(["linux_x86_64", "linux_aarch64"]))
def test_any_bytes_give_versions_or_none(module: bytes, platform: str) -> None:
    found = refresh_jax.parse_versions(module, platform)
    assert found is None or found[0].major >= 11


@pytest.mark.parametrize(("number", "version"), [(8904, "8.9.4"), (90101, "9.1.1"), (90800, "9.8.0"), (91002, "9.10.2"), (91200, "9.12.0")])
def test_cudnns_version_encoding(number: int, version: str) -> None:
    assert str(refresh_jax.cudnn_version(number)) == version


def read(cache: Path, distribution: str, platform: str, metadata: str, members: dict[str, bytes]) -> dict[str, Any]:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in {"x-0.8.0.dist-info/METADATA": metadata.encode(), **members}.items():
            archive.writestr(name, data)
    release = Release(distribution, Version(0, 8), platform, ("3.12",), IndexFile(f"{distribution}-{platform}.whl", "u"))
    return refresh_jax.read(Wheel(release, OneWheel(lambda: zipfile.ZipFile(content)), cache))


def test_a_plugin(tmp_path: Path) -> None:
    members = {
        "jax_cuda12_plugin/_versions.so": X86_64_080,
        "jax_cuda12_plugin/_prng.so": b"\x7fELF" + container(entry(SASS_90A), entry(PTX_100F)),
        "jax_cuda12_plugin/version.py": b"",
    }
    told = read(tmp_path, "jax-cuda12-plugin", "linux_x86_64", PLUGIN, members)
    assert (told["accelerator"], str(told["built_with_cuda"]), str(told["cudnn"])) == ("cuda", "12.9", "9.8.0")
    assert (told["sass"], told["ptx"]) == (("sm_90a",), ("compute_100f",))
    assert 'nvidia-cudnn-cu12<10.0,>=9.8;extra=="with-cuda"' in told["requires"]
    assert told["source"] == ("jax-cuda12-plugin-wheels", "jax-installation")
    assert "5.2" in told["note"]


def test_a_plugin_without_versions_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not state its CUDA"):
        read(tmp_path, "jax-cuda12-plugin", "linux_x86_64", PLUGIN, {"jax_cuda12_plugin/_versions.so": b"\x7fELF"})


def test_the_large_library_is_read_for_every_platform(tmp_path: Path) -> None:
    members = {
        "jax_plugins/xla_cuda12/xla_cuda_plugin.so": b"\x7fELF" + container(entry(SASS_90A), entry(PTX_100F)),
        "x-0.8.0.dist-info/RECORD": b"jax_plugins/xla_cuda12/xla_cuda_plugin.so,sha256=4f_-,9\n",
    }
    for platform in ("linux_x86_64", "linux_aarch64"):
        told = read(tmp_path, "jax-cuda12-pjrt", platform, "Name: x\n", members)
        assert (told["sass"], told["ptx"]) == (("sm_90a",), ("compute_100f",))


def test_jax_keeps_the_gpu_extras(tmp_path: Path) -> None:
    told = read(tmp_path, "jax", "any", JAX, {})
    assert told["accelerator"] == "none"
    assert told["requires"] == (
        'jax-cuda12-plugin==0.4.30;extra=="cuda12-local"',
        'jax-cuda12-plugin[with-cuda]<=0.4.30,>=0.4.30;extra=="cuda12"',
        "jaxlib<=0.4.30,>=0.4.27",
        'jaxlib==0.4.30;extra=="cuda12"',
        "ml-dtypes>=0.2.0",
        'numpy>=1.26.0;python_version>="3.12"',
    )


def test_jaxlib_is_for_the_cpu(tmp_path: Path) -> None:
    members = {
        "jaxlib/xla_extension.so": b"numpy.core.x numpy._core._multiarray_umath",
        "x-0.8.0.dist-info/RECORD": b"jaxlib/xla_extension.so,sha256=4f_-,9\n",
    }
    told = read(tmp_path, "jaxlib", "linux_x86_64", "Name: x\n", members)
    assert (told["accelerator"], told["numpy_abi"]) == ("cpu", 2)
    assert read(tmp_path, "jaxlib", "win_amd64", "Name: x\n", {})["numpy_abi"] is None


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


@pytest.mark.parametrize(
    ("plugin", "cuda", "cudnn", "needs"),
    [
        ("jax-cuda12-plugin==0.4.30", "12.3", "9.1.1", 'nvidia-cudnn-cu12<10.0,>=9.0;extra=="with-cuda"'),
        ("jax-cuda12-plugin==0.8.0", "12.9", "9.8.0", 'nvidia-cudnn-cu12<10.0,>=9.8;extra=="with-cuda"'),
        ("jax-cuda12-plugin==0.11.2", "12.9", "9.10.2", 'nvidia-cudnn-cu12<10.0,>=9.10.2.21;extra=="with-cuda"'),
        ("jax-cuda13-plugin==0.8.0", "13.0", "9.12.0", 'nvidia-cudnn-cu13<10.0,>=9.12.0.46;extra=="with-cuda"'),
    ],
)
def test_shipped_plugins(shipped: Matrix, plugin: str, cuda: str, cudnn: str, needs: str) -> None:
    distribution, _, version = plugin.partition("==")
    for platform in ("linux_x86_64", "linux_aarch64"):
        row = shipped.resolve(distribution, version, platform).row
        assert row is not None
        assert (str(row.built_with_cuda), str(row.cudnn)) == (cuda, cudnn)
        assert needs in row.requires
        assert f"{distribution.replace('plugin', 'pjrt')}=={version}" in row.requires
    assert shipped.releases(distribution, "win_amd64") == ()


def test_both_parts_of_a_plugin_support_the_same_gpus(shipped: Matrix) -> None:
    for cuda, platform in product(("12", "13"), ("linux_x86_64", "linux_aarch64")):
        plugins = {row.release: (row.sass, row.ptx) for row in shipped.releases(f"jax-cuda{cuda}-plugin", platform)}
        parts = shipped.releases(f"jax-cuda{cuda}-pjrt", platform)
        assert len(parts) >= len(plugins) - 1, "0.4.22 was published without -pjrt"
        assert [(row.sass, row.ptx) for row in parts] == [plugins[row.release] for row in parts]


def test_jax_is_one_row_for_all_platforms(shipped: Matrix) -> None:
    for platform in ("linux_x86_64", "win_amd64", "macos_arm64"):
        row = shipped.resolve("jax", "0.8.0", platform).row
        assert row is not None
        assert (row.platform, row.accelerator) == ("any", "none")
    older = shipped.resolve("jax", "0.7.1").row
    assert older is not None
    assert "3.10" not in older.pythons


def test_a_release_of_four_numbers_is_a_release(shipped: Matrix) -> None:
    row = shipped.resolve("jax", "0.12.0.1").row
    assert row is not None
    assert str(row.release) == "0.12.0.1"
    assert str((shipped.resolve("jaxlib", "0.12.0").row or row).release) == "0.12.0"
