"""What version and build strings say of CUDA."""

from __future__ import annotations

import pytest

from gpudoctor.derive.build_names import UNKNOWN_BUILD, Build, build_of_conda, build_of_local_version


@pytest.mark.parametrize(
    ("version", "build"),
    [
        ("2.6.0+cu124", Build(has_cuda=True, cuda="12.4")),
        ("1.6.0+cu92", Build(has_cuda=True, cuda="9.2")),
        ("2.0.1+cu118.with.pypi.cudnn", Build(has_cuda=True, cuda="11.8")),
        ("0.4.25+cuda12.cudnn89", Build(has_cuda=True, cuda="12")),
        ("0.3.25+cuda11.cudnn805", Build(has_cuda=True, cuda="11")),
        ("2.1.0+cpu", Build(has_cuda=False)),
        ("2.7.0+xpu", Build(has_cuda=False)),
        ("2.5.1+rocm6.2", Build(has_cuda=False, rocm="6.2")),
        ("2.4.0.dev20240522+cu121", Build(has_cuda=True, cuda="12.1")),
        ("2.3.0", UNKNOWN_BUILD),
        ("2.3.0a0+git1c57644", UNKNOWN_BUILD),
        ("2.10.0a0+b558c986e8.nv25.11", UNKNOWN_BUILD),
    ],
)
def test_a_local_version_names_the_build(version: str, build: Build) -> None:
    assert build_of_local_version(version) == build


@pytest.mark.parametrize(
    ("string", "build"),
    [
        ("py3.11_cuda12.1_cudnn8.9.2_0", Build(has_cuda=True, cuda="12.1", cudnn="8.9.2")),
        ("py3.6_cuda9.0.176_cudnn7.4.1_1", Build(has_cuda=True, cuda="9.0", cudnn="7.4.1")),
        ("cuda112py39h3ad47f5_300", Build(has_cuda=True, cuda="11.2")),
        ("cuda126_generic_py312_h3d5e67c_202", Build(has_cuda=True, cuda="12.6")),
        ("cuda126_mkl_py312_h30b5a27_304", Build(has_cuda=True, cuda="12.6")),
        ("cuda92py36h7a1b2c3_0", Build(has_cuda=True, cuda="9.2")),
        ("gpu_cuda113py39h19ae3d8_0", Build(has_cuda=True, cuda="11.3")),
        ("gpu_py39h8236f22_0", Build(has_cuda=True)),
        ("py3.9_cpu_0", Build(has_cuda=False)),
        ("cpu_py310h9a3d2f1_1", Build(has_cuda=False)),
        ("mkl_py37h80a91df_0", Build(has_cuda=False)),
        ("eigen_py39hb0beb4b_0", Build(has_cuda=False)),
        ("py39h06a4308_0", UNKNOWN_BUILD),
        ("h955ad1f_0", UNKNOWN_BUILD),
        ("", UNKNOWN_BUILD),
    ],
)
def test_a_conda_build_string_names_the_build(string: str, build: Build) -> None:
    assert build_of_conda(string) == build
