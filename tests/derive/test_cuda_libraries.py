from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.derive import CudaComponent, MachineView
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.cuda_libraries import component_with_code, cudnn_difference, takes_system_cuda
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    Asking,
    Cause,
    Distribution,
    Fact,
    Framework,
    FrameworkLibraries,
    GpuCode,
    Host,
    Libraries,
    LibraryFile,
    LibraryUse,
    Missing,
    Packages,
    Platform,
)
from tests.builders import ABSENT, machine, tensorflow, torch
from tests.matrix.samples import matrix, version

SITE = "/env/lib/python3.12/site-packages"
AND_CUDA = 'nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == "and-cuda"'
CUDNN = matrix(
    cudnn="""
    9.10.2.21,12,linux_x86_64,libcudnn.so.9,sm_50,compute_90,cudnn-wheels
    9.11.0.98,12,linux_aarch64,libcudnn.so.9,sm_87,none,cudnn-wheels
    9.11.0.98,12,linux_x86_64,libcudnn.so.9,sm_75,compute_120,cudnn-wheels
    """
)


def installed(name: str, release: str, *requires: str, **changes: Any) -> Distribution:
    return msgspec.structs.replace(Distribution(name, release, SITE, requires=requires), **changes)


def facts(*packages: Distribution, framework: Framework | None = None, tables: Matrix | None = None, **changes: Any) -> MachineView:
    other = framework or tensorflow()
    snapshot = machine(frameworks=(other,), packages=Packages(packages), **changes)
    return MachineView(snapshot, tables or matrix(), Policy())


def cudnn(found: MachineView) -> CudaComponent:
    one = found.frameworks[0].component_or_missing("cudnn")
    assert isinstance(one, CudaComponent)
    return one


def seen(*files: LibraryFile, framework: str = "tensorflow") -> Libraries:
    uses = tuple(LibraryUse("cudnn", "libcudnn.so.9", "libtf.so", Asking.OPENED, vital=True, file=file) for file in files)
    return Libraries(frameworks=(FrameworkLibraries(framework=framework, uses=uses),))


def test_the_wheel_and_what_metadata_requires_of_it() -> None:
    found = cudnn(facts(installed("tensorflow", "2.18.0", AND_CUDA), installed("nvidia-cudnn-cu12", "9.1.0.70")))
    assert (str(found.wanted), str(found.loaded), found.wheel) == ("9.3.0.75", "9.1.0.70", "nvidia-cudnn-cu12")
    assert "tensorflow 2.18.0 requires nvidia-cudnn-cu12" in found.wanted_where
    assert SITE in found.loaded_where


def test_a_file_that_would_be_loaded_comes_before_the_wheel() -> None:
    file = LibraryFile("/usr/lib/libcudnn.so.9", version=Fact("9.5.1", "cudnn_version.h"))
    found = cudnn(facts(installed("nvidia-cudnn-cu12", "9.1.0.70"), libraries=seen(file), system_cudnn=Fact("8.9", "ldconfig")))
    assert (str(found.loaded), found.loaded_where) == ("9.5.1", "/usr/lib/libcudnn.so.9 (cudnn_version.h)")


def test_the_wheel_comes_before_the_system() -> None:
    system = Fact("8.9.7", "ldconfig")
    assert str(cudnn(facts(installed("nvidia-cudnn-cu12", "9.1.0.70"), system_cudnn=system)).loaded) == "9.1.0.70"
    assert str(cudnn(facts(system_cudnn=system)).loaded) == "8.9.7"


def test_without_the_requested_file_the_installed_one_counts() -> None:
    nowhere = Libraries(
        frameworks=(
            FrameworkLibraries(
                framework="tensorflow",
                uses=(LibraryUse("cudnn", "libcudnn.so.9", "", Asking.OPENED, vital=True, file=Missing(Cause.ABSENT, "nowhere")),),
            ),
        )
    )
    assert str(cudnn(facts(system_cudnn=Fact("8.9.7", "ldconfig"), libraries=nowhere)).loaded) == "8.9.7"


def test_torch_only_searches_wheels_that_it_requires() -> None:
    wheel = installed("nvidia-cudnn-cu12", "9.3.0.75")
    assert isinstance(cudnn(facts(installed("torch", "2.6.0"), wheel, framework=torch())).loaded, Missing)
    requiring = installed("torch", "2.6.0", "nvidia-cudnn-cu12==9.1.0.70")
    found = cudnn(facts(requiring, wheel, framework=torch()))
    assert (str(found.wanted), str(found.loaded)) == ("9.1.0.70", "9.3.0.75")


def test_a_wheel_for_another_cuda_does_not_count() -> None:
    assert isinstance(cudnn(facts(installed("nvidia-cudnn-cu13", "9.13.0.50"))).loaded, Missing)


def test_a_releases_extra_shows_its_build_version() -> None:
    requires = '"nvidia-cudnn-cu12<10.0,>=9.3.0.75;extra==""and-cuda"""'
    row = f"tensorflow,2.18.0,linux_x86_64,3.12,cuda,12.5.1,9,,,{requires},,,,tensorflow-wheels"
    found = cudnn(facts(system_cudnn=Fact("9.1", "stated"), tables=matrix(tensorflow=row)))
    assert str(found.wanted) == "9.3.0.75"
    assert "matrix: tensorflow 2.18.0" in found.wanted_where


def test_a_version_chosen_by_the_installer_was_not_stated() -> None:
    assert cudnn(facts(installed("nvidia-cudnn-cu12", "9.11.0.98", chosen=True))).chosen
    file = LibraryFile("/x/libcudnn.so.9", version=Fact("9.5.1", "header"))
    assert not cudnn(facts(installed("nvidia-cudnn-cu12", "9.11.0.98", chosen=True), libraries=seen(file))).chosen


def test_the_code_is_that_of_the_library_with_the_kernels() -> None:
    files = (
        LibraryFile("/x/libcudnn.so.9", version=Fact("9.11.0", "header"), code=GpuCode((), ())),
        LibraryFile("/x/libcudnn_ops.so.9", code=GpuCode(("sm_50", "sm_70", "sm_80"), ())),
        LibraryFile("/x/libcudnn_engines_precompiled.so.9", code=GpuCode(("sm_75", "sm_80"), ())),
    )
    found = cudnn(facts(libraries=seen(*files)))
    assert not isinstance(found.code, Missing)
    assert (found.code.sass, found.code.where) == (("sm_75", "sm_80"), "/x/libcudnn_engines_precompiled.so.9")


def test_the_matrix_has_the_code_of_a_release() -> None:
    assert of_the_matrix(installed("nvidia-cudnn-cu12", "9.11.0.98")) == ("sm_75",)
    assert of_the_matrix(installed("nvidia-cudnn-cu12", "9.99.0.1")) is None


def test_a_cudnn_is_compared_with_its_platforms_wheel() -> None:
    package = installed("nvidia-cudnn-cu12", "9.11.0.98")
    assert of_the_matrix(package, architecture="aarch64") == ("sm_87",)
    assert of_the_matrix(package, architecture="ppc64le") is None
    assert of_the_matrix(package, architecture=Missing(Cause.NOT_STATED, "nobody said it")) is None
    assert of_the_matrix(package, platform=Platform.WINDOWS) is None


def test_a_jetsons_system_cudnn_is_not_the_wheels_build() -> None:
    system = Fact("9.11.0", "/usr/include/cudnn_version.h")
    assert of_the_matrix(architecture="aarch64", system_cudnn=system) == ("sm_87",)
    assert of_the_matrix(architecture="aarch64", platform=Platform.JETSON, system_cudnn=system) is None
    package = installed("nvidia-cudnn-cu12", "9.11.0.98")
    assert of_the_matrix(package, architecture="aarch64", platform=Platform.JETSON, system_cudnn=system) == ("sm_87",)


def of_the_matrix(
    *packages: Distribution,
    architecture: str | Missing = "x86_64",
    platform: Platform = Platform.LINUX,
    system_cudnn: Fact | Missing = ABSENT,
) -> tuple[str, ...] | None:
    """The machine code in the cuDNN that would be loaded there; None if unknown."""
    found = facts(*packages, host=Host(platform=platform, architecture=architecture), system_cudnn=system_cudnn)
    cuda = EffectiveCuda(version=version("12.5"), where="", cudnn=version("9"), floor=version("1"), exact_floor=version("1"))
    code = component_with_code(cudnn(found), cuda, found.observed, CUDNN).code
    return None if isinstance(code, Missing) else code.sass


@pytest.mark.parametrize(
    ("wanted", "loaded", "answer"),
    [
        ("8", "9.3.0.75", "major"),
        ("9.3.0.75", "8.9.7.29", "major"),
        ("9.3.0.75", "9.2.1.18", "older"),
        ("9.3.0.75", "9.3.0.50", ""),
        ("9.3.0.75", "9.10.2.21", ""),
        ("9", "9.0.0.312", ""),
        ("9.3.0.75", "9", ""),
        ("9.10.2.21", "9.8.0.87", "older"),
    ],
)
def test_how_a_cudnn_differs(wanted: str, loaded: str, answer: str) -> None:
    assert cudnn_difference(version(wanted), version(loaded)) == answer


@pytest.mark.parametrize(
    ("framework", "packages", "takes"),
    [
        (tensorflow(), (), True),
        (tensorflow(), (installed("nvidia-cuda-runtime-cu12", "12.5.82"),), False),
        (tensorflow(), (installed("nvidia-cuda-runtime-cu11", "11.8.89"),), True),
        (torch(), (), False),
    ],
    ids=["alone", "with its runtime", "with another CUDA's", "torch"],
)
def test_builds_that_load_the_systems_cuda(framework: Framework, packages: tuple[Distribution, ...], takes: bool) -> None:
    found = facts(*packages, framework=framework)
    cuda = found.frameworks[0].cuda_or_missing
    assert isinstance(cuda, EffectiveCuda)
    assert takes_system_cuda(framework, cuda, found.stack_or_missing) is takes
