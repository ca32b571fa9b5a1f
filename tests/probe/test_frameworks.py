"""Build information from the files of real wheels, whose contents are the published ones without comments."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpudoctor.frameworks import framework_of
from gpudoctor.probe.frameworks import frameworks
from gpudoctor.probe.packages import installed_packages
from gpudoctor.snapshot import Cause, Fact, Framework, Missing
from tests.probe.places import Content, plant

BUILD = "tensorflow/python/platform/build_info.py"
CORE = "tensorflow_core/python/platform/build_info.py"
V1_13 = "is_cuda_build = True\n\n\n"
V1_14 = "is_cuda_build = True\n\ncuda_version_number = '10'\ncudnn_version_number = '7'\n"
V2_1 = "is_rocm_build = False\nis_cuda_build = True\n\ncuda_version_number = '10.1'\ncudnn_version_number = '7'\n"
V2_3 = (
    "build_info = {'cuda_version': '10.1', 'cudnn_version': '7', 'cuda_compute_capabilities': ['sm_35', 'sm_37', 'sm_52', 'sm_60', 'sm_61', "
    "'compute_70'], 'cpu_compiler': '/usr/bin/gcc-5', 'is_rocm_build': False, 'is_cuda_build': True}\n"
)
V2_10 = (
    "import collections\n\nbuild_info = collections.OrderedDict([('cpu_compiler', '/dt9/usr/bin/gcc'), ('cuda_compute_capabilities', ['sm_35', "
    "'sm_50', 'sm_60', 'sm_70', 'sm_75', 'compute_80']), ('cuda_version', '11.2'), ('cudnn_version', '8'), ('is_cuda_build', True), "
    "('is_rocm_build', False), ('is_tensorrt_build', True)])\n"
)
V2_21_CPU = "import collections\n\nbuild_info = collections.OrderedDict([('is_cuda_build', False), ('is_rocm_build', False), ('is_tensorrt_build', False)])\n"
TORCH_1_4 = "__version__ = '1.4.0'\ndebug = False\ncuda = '10.1'\ngit_version = '7f73f1d'\nhip = None\n"
TORCH_2_8 = (
    "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n__version__ = '2.8.0+cu128'\n"
    "debug = False\ncuda: Optional[str] = '12.8'\ngit_version = 'a1cb3cc'\nhip: Optional[str] = None\nxpu: Optional[str] = None\n"
)
TORCH_2_8_CPU = TORCH_2_8.replace("+cu128", "+cpu").replace("'12.8'", "None")
JAX = "import os\n\n_version = \"0.6.2\"\n_release_version: str = '0.6.2'\n_git_hash: str | None = None\n\ndef _get_version_string() -> str:\n  return _version\n"


def installed(site: Path, *metadata: str, files: dict[str, Content]) -> tuple[Framework, ...]:
    plant(site, {**{f"{folder}/METADATA": "" for folder in metadata}, **files})
    return frameworks([str(site)], installed_packages([str(site)]).distributions)


def only(found: tuple[Framework, ...]) -> Framework:
    (framework,) = found
    return framework


def value(fact: Fact | Missing) -> str:
    return fact.value if isinstance(fact, Fact) else str(fact.cause)


TENSORFLOWS = [
    ("tensorflow_gpu-1.13.2", BUILD, V1_13, True, "absent", "absent", None),
    ("tensorflow_gpu-1.14.0", BUILD, V1_14, True, "10", "7", None),
    ("tensorflow_gpu-1.15.0", CORE, "is_rocm_build = False\n" + V1_14, True, "10", "7", None),
    ("tensorflow-2.1.0", CORE, V2_1, True, "10.1", "7", None),
    ("tensorflow-2.3.0", BUILD, V2_3, True, "10.1", "7", ("sm_35", "sm_37", "sm_52", "sm_60", "sm_61", "compute_70")),
    ("tensorflow-2.10.0", BUILD, V2_10, True, "11.2", "8", ("sm_35", "sm_50", "sm_60", "sm_70", "sm_75", "compute_80")),
    ("tensorflow_cpu-2.21.0", BUILD, V2_21_CPU, False, "absent", "absent", None),
]


@pytest.mark.parametrize("case", TENSORFLOWS)
def test_every_format_of_tensorflows_build_file(tmp_path: Path, case: tuple[str, str, str, bool, str, str, tuple[str, ...] | None]) -> None:
    metadata, file, content, is_cuda, cuda, cudnn, architectures = case
    found = only(installed(tmp_path, f"{metadata}.dist-info", files={file: content, "tensorflow/__init__.py": ""}))
    name, _, version = metadata.partition("-")
    assert (found.name, found.distribution, value(found.version)) == ("tensorflow", name.replace("_", "-"), version)
    assert found.cuda_build is is_cuda
    assert (value(found.built_with_cuda), value(found.built_with_cudnn)) == (cuda, cudnn)
    if architectures is None:
        assert isinstance(found.architectures, Missing)
        assert found.architectures.cause is Cause.ABSENT
    else:
        assert found.architectures == architectures


@pytest.mark.parametrize(
    "case",
    [
        ("torch-1.4.0", TORCH_1_4, "1.4.0", True, "10.1"),
        ("torch-2.8.0", TORCH_2_8, "2.8.0+cu128", True, "12.8"),
        ("torch-2.8.0", TORCH_2_8_CPU, "2.8.0+cpu", False, "absent"),
        ("torch-2.8.0", TORCH_2_8_CPU.replace("hip: Optional[str] = None", "hip: Optional[str] = '6.3'"), "2.8.0+cpu", False, "absent"),
    ],
)
def test_torch(tmp_path: Path, case: tuple[str, str, str, bool, str]) -> None:
    metadata, content, version, is_cuda, cuda = case
    found = only(installed(tmp_path, f"{metadata}.dist-info", files={"torch/version.py": content, "torch/__init__.py": ""}))
    assert (value(found.version), found.cuda_build, value(found.built_with_cuda)) == (version, is_cuda, cuda)
    assert found.rocm_build is ("'6.3'" in content)


PADDLE = "full_version     = '{}'\nmajor            = '2'\nrc               = '0'\ncuda_version     = '{}'\ncudnn_version    = '{}'\nwith_mkl         = 'ON'\n"
PADDLE_3_3_CPU = PADDLE.format("3.3.1", "False", "False") + "hip_version = None\ncompiled_cuda_archs     = []\n"


@pytest.mark.parametrize(
    ("metadata", "content", "expected"),
    [
        ("paddlepaddle_gpu-2.6.2", PADDLE.format("2.6.2", "11.8", "8.6.0"), ("2.6.2", True, "11.8", "8.6.0")),
        ("paddlepaddle-2.6.2", PADDLE.format("2.6.2", "False", "False"), ("2.6.2", False, "absent", "absent")),
        ("paddlepaddle-3.3.1", PADDLE_3_3_CPU, ("3.3.1", False, "absent", "absent")),
    ],
)
def test_paddle(tmp_path: Path, metadata: str, content: str, expected: tuple[str, bool, str, str]) -> None:
    found = only(installed(tmp_path, f"{metadata}.dist-info", files={"paddle/version/__init__.py": content, "paddle/__init__.py": ""}))
    assert found.name == "paddle"
    assert (value(found.version), found.cuda_build, value(found.built_with_cuda), value(found.built_with_cudnn)) == expected
    assert found.rocm_build is False


def test_a_folder_without_metadata_and_own_files_is_no_framework(tmp_path: Path) -> None:
    assert installed(tmp_path, "paddle-1.4.4.dist-info", files={"paddle/__init__.py": "", "jax/__init__.py": ""}) == ()


@pytest.mark.parametrize(
    ("others", "cuda", "cudnn"),
    [
        (("jaxlib-0.6.2", "jax_cuda12_plugin-0.6.2", "jax_cuda12_pjrt-0.6.2"), "12", "absent"),
        (("jaxlib-0.10.2", "jax_cuda13_plugin-0.10.2"), "13", "absent"),
        (("jaxlib-0.4.25+cuda12.cudnn89",), "12", "8.9"),
        (("jaxlib-0.1.75+cuda11.cudnn805",), "11", "8.0.5"),
        (("jaxlib-0.1.55+cuda110",), "11.0", "absent"),
        (("jaxlib-0.6.2",), "absent", "absent"),
    ],
)
def test_jax(tmp_path: Path, others: tuple[str, ...], cuda: str, cudnn: str) -> None:
    metadata = [f"{name}.dist-info" for name in ("jax-0.6.2", *others)]
    found = only(installed(tmp_path, *metadata, files={"jax/version.py": JAX, "jax/__init__.py": ""}))
    assert (found.name, value(found.version), found.cuda_build) == ("jax", "0.6.2", cuda != "absent")
    assert (value(found.built_with_cuda), value(found.built_with_cudnn)) == (cuda, cudnn)


def test_the_first_of_two_copies_wins(tmp_path: Path) -> None:
    for folder, version in (("user", "2.3.0"), ("site", "2.10.0")):
        plant(
            tmp_path / folder,
            {f"tensorflow-{version}.dist-info/METADATA": "", BUILD: V2_3 if folder == "user" else V2_10, "tensorflow/__init__.py": ""},
        )
    path = [str(tmp_path / folder) for folder in ("user", "site")]
    found = only(frameworks(path, installed_packages(path).distributions))
    assert (value(found.version), value(found.built_with_cuda), found.location) == ("2.3.0", "10.1", f"{path[0]}/tensorflow")


def test_a_copy_without_metadata_does_not_use_another_copys(tmp_path: Path) -> None:
    plant(tmp_path / "source", {"torch/version.py": TORCH_2_8, "torch/__init__.py": ""})
    plant(tmp_path / "site", {"torch-1.4.0.dist-info/METADATA": "", "torch/version.py": TORCH_1_4, "torch/__init__.py": ""})
    path = [str(tmp_path / folder) for folder in ("source", "site")]
    found = only(frameworks(path, installed_packages(path).distributions))
    assert (found.distribution, value(found.version)) == ("", "2.8.0+cu128")


def test_a_leftover_folder_is_not_the_package(tmp_path: Path) -> None:
    plant(tmp_path / "user", {"tensorflow/include/leftover.h": ""})
    plant(tmp_path / "site", {"tensorflow-2.10.0.dist-info/METADATA": "", BUILD: V2_10, "tensorflow/__init__.py": ""})
    path = [str(tmp_path / folder) for folder in ("user", "site")]
    found = only(frameworks(path, installed_packages(path).distributions))
    assert (found.distribution, found.location) == ("tensorflow", f"{path[1]}/tensorflow")


def test_metadata_whose_package_is_gone(tmp_path: Path) -> None:
    found = only(installed(tmp_path, "tensorflow-2.10.0.dist-info", files={}))
    assert value(found.version) == "2.10.0"
    for field in (found.location, found.cuda_build, found.built_with_cuda, found.architectures):
        assert isinstance(field, Missing)
        assert field.cause is Cause.ABSENT


@pytest.mark.parametrize("content", ["", "__version__ = '2.8.0'\n", "__version__ = '2.8.0'\nhip = None\n"])
def test_a_build_file_without_its_constants_states_no_build(tmp_path: Path, content: str) -> None:
    found = only(installed(tmp_path, "torch-2.8.0.dist-info", files={"torch/version.py": content, "torch/__init__.py": ""}))
    assert isinstance(found.cuda_build, Missing)
    assert found.cuda_build.cause is Cause.FAILED
    assert found.cuda_build.reason == f"{tmp_path}/torch/version.py does not assign cuda"


def test_broken_build_files_are_missing_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax/version.py").symlink_to("version.py")
    tensorflow, torch, jax = installed(
        tmp_path, "torch-2.8.0.dist-info", "tensorflow-2.10.0.dist-info", "jax-0.6.2.dist-info",
        files={BUILD: b"\xff\xfe build_info = ", "torch/version.py": b"x" * 2_000_000 + b"("},
    )  # fmt: skip
    for field in (tensorflow.cuda_build, torch.built_with_cuda):
        assert isinstance(field, Missing)
    assert value(jax.version) == "0.6.2"
    assert value(torch.version) == "2.8.0"


def test_undecodable_folder(tmp_path: Path) -> None:
    site = tmp_path / os.fsdecode(b"caf\xe9")
    found = only(installed(site, "torch-2.8.0.dist-info", files={"torch/version.py": TORCH_2_8, "torch/__init__.py": ""}))
    assert found.location == f"{tmp_path}/caf\\xe9/torch"
    assert found.distribution == "torch"


@pytest.mark.parametrize(
    "name", ["tensorflow-hub", "tensorflow-estimator", "torchvision", "jaxlib", "tensorflow-io-gcs-filesystem", "jaxtyping"]
)
def test_a_frameworks_companions_are_not_frameworks(name: str) -> None:
    assert framework_of(name) is None


def test_packages_from_folder_names(tmp_path: Path) -> None:
    names = (
        "nvidia_cudnn_cu12-9.3.0.75.dist-info", "numpy-1.24.2.egg-info", "torch-1.13.1-py3.9.egg-info", "Keras-3.0.0.dist-info", "~orch-2.0.dist-info",
        "requests-2.0.dist-info", "torch.dist-info", "ml_dtypes-0.4.0.dist-info", "tensorflow_gpu-1.14.0.dist-info", "torch",
    )  # fmt: skip
    for name in names:
        (tmp_path / name).mkdir()
    found = installed_packages(["relative", str(tmp_path), str(tmp_path), str(tmp_path / "none")])
    assert {(distribution.name, distribution.version) for distribution in found.distributions} == {
        ("nvidia-cudnn-cu12", "9.3.0.75"), ("numpy", "1.24.2"), ("torch", "1.13.1"), ("keras", "3.0.0"), ("ml-dtypes", "0.4.0"), ("tensorflow-gpu", "1.14.0"),
    }  # fmt: skip
    assert len(found.distributions) == 6
