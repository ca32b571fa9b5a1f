from __future__ import annotations

import pytest

from gpudoctor.derive.cuda import EffectiveCuda, effective_cuda, is_driver_new_enough
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.site import Site
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, Distribution, Fact, Framework, Host, Missing, Packages, Platform, Python
from gpudoctor.versions import Version, parse_version
from tests.builders import ABSENT, tensorflow, torch
from tests.matrix.samples import matrix as tables_of
from tests.shipped import shared_matrix

PYTHON = Python("/env/bin/python", "named", version="3.11.7")


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return shared_matrix()


def effective(framework: Framework, matrix: Matrix) -> EffectiveCuda:
    found = effective_cuda(framework, PYTHON, matrix)
    assert isinstance(found, EffectiveCuda)
    return found


def own(text: str) -> Fact:
    return Fact(text, "build_info.py")


def test_the_wheels_own_version_comes_first(matrix: Matrix) -> None:
    found = effective(tensorflow(), matrix)
    assert (str(found.version), found.where, found.disagreement) == ("12.5.1", "build_info.py", "")


def test_a_disagreement_is_kept(matrix: Matrix) -> None:
    found = effective(tensorflow(built_with_cuda=own("11.8")), matrix)
    assert found.version.short == "11.8"
    assert "12.5.1" in found.disagreement


def test_the_matrix_makes_an_imprecise_version_precise(matrix: Matrix) -> None:
    old = tensorflow(distribution="tensorflow-gpu", version=own("1.14.0"), built_with_cuda=own("10"), built_with_cudnn=own("7"))
    found = effective(old, matrix)
    assert found.version.text.startswith("10.0")
    assert "build_info.py (10)" in found.where
    assert "matrix" in found.where
    assert found.cudnn.major == 7 if not isinstance(found.cudnn, Missing) else False


def test_a_release_without_a_version_is_looked_up(matrix: Matrix) -> None:
    silent = tensorflow(built_with_cuda=ABSENT, built_with_cudnn=ABSENT)
    found = effective(silent, matrix)
    assert found.version.short == "12.5"
    assert found.where.startswith("matrix: tensorflow 2.18.0")


@pytest.mark.parametrize(
    ("framework", "cause"),
    [
        (tensorflow(cuda_build=False), Cause.ABSENT),
        (tensorflow(distribution="tensorflow-cpu", cuda_build=ABSENT, built_with_cuda=ABSENT), Cause.ABSENT),
        (torch(version=own("99.1.0"), built_with_cuda=ABSENT), Cause.NOT_STATED),
        (torch(version=ABSENT, built_with_cuda=ABSENT), Cause.NOT_STATED),
    ],
    ids=["says so itself", "published so", "newer than the matrix", "no version"],
)
def test_no_cuda_and_unknown_cuda_are_distinguished(framework: Framework, cause: Cause, matrix: Matrix) -> None:
    found = effective_cuda(framework, PYTHON, matrix)
    assert isinstance(found, Missing)
    assert found.cause is cause


@pytest.mark.parametrize(("cuda", "floor"), [("12.5.1", "525.60.13"), ("11.8", "450.80.02"), ("10.1", "418.39")])
def test_the_driver_floor_follows_the_cuda(cuda: str, floor: str, matrix: Matrix) -> None:
    found = effective(torch(version=own("99.1.0"), built_with_cuda=own(cuda)), matrix)
    assert str(found.floor) == floor
    assert "matrix: CUDA" in found.floor_where


def test_an_unknown_major_version_of_cuda_has_no_floor(matrix: Matrix) -> None:
    found = effective(torch(version=own("99.1.0"), built_with_cuda=own("99.0")), matrix)
    assert isinstance(found.floor, Missing)


JAX_ALONE = Framework("jax", "jax", version=Fact("0.8.0", "stated"))
WINDOWS = Host(platform=Platform.WINDOWS, architecture="x86_64")


@pytest.mark.parametrize(
    ("packages", "cuda"),
    [
        ((Distribution("jax", "0.8.0", "stated", extras=("cuda12",)),), "12"),
        ((Distribution("jax", "0.8.0", "stated"), Distribution("jax-cuda13-plugin", "0.8.0", "jax[cuda13] 0.8.0")), "13"),
    ],
)
def test_jax_has_its_plugins_cuda_if_only_packages_are_named(packages: tuple[Distribution, ...], cuda: str, matrix: Matrix) -> None:
    found = effective_cuda(JAX_ALONE, PYTHON, matrix, packages=Packages(packages))
    assert isinstance(found, EffectiveCuda)
    assert str(found.version.major) == cuda


@pytest.mark.parametrize(
    ("version", "cuda", "cudnn"),
    [
        ("0.4.25+cuda12.cudnn89", "12", "8.9"),
        ("0.4.13+cuda11.cudnn86", "11", "8.6"),
        ("0.3.0+cuda11.cudnn805", "11", "8.0.5"),
        ("0.1.60+cuda111", "11.1", None),
        ("0.1.55+cuda92", "9.2", None),
    ],
)
def test_an_old_jaxlib_names_its_cuda_in_its_local_version(version: str, cuda: str, cudnn: str | None, matrix: Matrix) -> None:
    packages = Packages((Distribution("jax", "0.4.25", "stated"), Distribution("jaxlib", version, "stated")))
    found = effective_cuda(JAX_ALONE, PYTHON, matrix, packages=packages)
    assert isinstance(found, EffectiveCuda)
    assert str(found.version) == cuda
    assert (None if isinstance(found.cudnn, Missing) else str(found.cudnn)) == cudnn


def test_what_the_extra_cuda_of_an_unknown_release_installs_is_unknown(matrix: Matrix) -> None:
    found = effective_cuda(JAX_ALONE, PYTHON, matrix, packages=Packages((Distribution("jax", "0.3.25", "stated", extras=("cuda",)),)))
    assert isinstance(found, Missing)
    assert found.cause is Cause.NOT_STATED


def test_jax_without_a_plugin_has_no_cuda(matrix: Matrix) -> None:
    found = effective_cuda(JAX_ALONE, PYTHON, matrix, packages=Packages((Distribution("jax", "0.8.0", "stated"),)))
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


def test_the_platforms_row_is_used() -> None:
    tables = tables_of(
        sources="wheels,Wheels,,2026-01-02",
        torch="torch,2.8.0,linux_x86_64,3.11,cuda,12.8,,,,,,,,wheels,\ntorch,2.8.0,win_amd64,3.11,cpu,,,,,,,,,wheels,",
    )
    bare = torch(version=own("2.8.0"), cuda_build=ABSENT, built_with_cuda=ABSENT)
    assert isinstance(effective_cuda(bare, PYTHON, tables), EffectiveCuda)
    found = effective_cuda(bare, PYTHON, tables, WINDOWS)
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


def test_windows_has_its_own_floors(matrix: Matrix) -> None:
    linux = effective_cuda(tensorflow(), PYTHON, matrix)
    windows = effective_cuda(tensorflow(), PYTHON, matrix, WINDOWS)
    assert isinstance(linux, EffectiveCuda)
    assert isinstance(windows, EffectiveCuda)
    assert (str(linux.floor), str(windows.floor)) == ("525.60.13", str(matrix.driver_floor(windows.version, "windows").minor_version_floor))  # type: ignore[union-attr]


UNSTATED = Missing(Cause.NOT_STATED, "nothing states it")


def version(text: str) -> Version:
    found = parse_version(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("driver", "served", "where", "build", "enough"),
    [
        ("525.60.13", "12.0", "linux", ("12.4", "525.60.13"), True),
        ("525.60.12", "12.0", "linux", ("12.4", "525.60.13"), False),
        ("525.60.12", "12.0", "forward", ("12.4", "525.60.13"), True),  # libcuda of cuda-compat
        ("470.1", "11.4", "forward", ("12.4", "525.60.13"), False),
        ("470.1", "13.0", "wsl2", ("12.4", "525.60.13"), True),
        ("470.1", "11.0", "wsl2", ("11.8", "450.80"), True),  # minor-version compatibility
        ("470.1", "10.1", "wsl2", ("10.2", "440.33"), False),  # CUDA 10 had none
        ("470.1", "10.2", "wsl2", ("10.1", "440.33"), True),
        ("470.1", "", "wsl2", ("12.4", "450.80"), None),
        ("470.1", "", "forward", ("12.4", "450.80"), None),
        ("525", "12.0", "linux", ("12.4", "525.60.13"), None),  # the branch alone
        ("525", "12.0", "linux", ("12.4", "520.10"), True),
        ("525", "12.0", "linux", ("12.4", "530.10"), False),
        ("525.60.13", "12.0", "linux", ("12.4", ""), None),
    ],
)
def test_a_driver_serves_by_its_number_or_behind_another_by_the_cuda_that_it_supports(
    driver: str, served: str, where: str, build: tuple[str, str], enough: bool | None
) -> None:
    cuda, floor = build
    found = is_driver_new_enough(
        Driver(version(driver), "NVML", version(served) if served else UNSTATED, forward=where == "forward"),
        EffectiveCuda(version=version(cuda), where="", cudnn=UNSTATED, floor=version(floor) if floor else UNSTATED, exact_floor=UNSTATED),
        Site(where if where == "wsl2" else "linux", "", "", (), root=False),
    )
    assert isinstance(found, Missing) if enough is None else found is enough
