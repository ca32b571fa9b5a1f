"""The tables of supported GPUs agree, release by release, with the code of each wheel."""

from __future__ import annotations

import pytest

from gpudoctor.derive.cudnn_code import cudnn_code, fit_of_release
from gpudoctor.derive.gpu_code import UNSUPPORTED_FITS, Fit
from gpudoctor.derive.gpu_support import KERNELS, NONE, PTX, UNKNOWN, WHEEL_PLATFORM, support_for_product
from gpudoctor.matrix import GpuProduct
from gpudoctor.matrix.tables import CUDNN, GPUS, TORCH_BUILDS
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
BY_CAPABILITY = {str(row.compute_capability): row for row in MATRIX.rows(GPUS) if row.kind != "jetson"}
WORDS = {Fit.NATIVE: KERNELS, Fit.PTX: PTX, Fit.TOO_NEW: NONE, Fit.TOO_OLD: NONE, Fit.UNKNOWN: UNKNOWN}


@pytest.mark.parametrize("gpu", BY_CAPABILITY.values(), ids=BY_CAPABILITY)
def test_every_release_with_cuda_is_there_once_and_meets_the_gpu_as_its_code_does(gpu: GpuProduct) -> None:
    said = {
        (wheel.distribution, wheel.build, release): wheel.code
        for wheel in support_for_product(gpu, MATRIX, "").wheels
        for release in wheel.releases
    }
    for distribution in {name for name, _, _ in said}:
        rows = [row for row in MATRIX.releases(distribution, WHEEL_PLATFORM) if row.accelerator == "cuda"]
        assert [str(row.release) for row in rows] == [release for name, build, release in said if name == distribution and not build]
        for row in rows:
            assert said[distribution, "", str(row.release)] == WORDS[fit_of_release(row, gpu.compute_capability, MATRIX)]
    for built in MATRIX.rows(TORCH_BUILDS):
        if built.platform == WHEEL_PLATFORM:
            of_build = MATRIX.resolve("torch", f"{built.release}+{built.local}", WHEEL_PLATFORM).row
            assert of_build is not None
            assert said["torch", built.local, str(built.release)] == WORDS[fit_of_release(of_build, gpu.compute_capability, MATRIX)]


def test_no_release_with_a_library_that_supports_no_later_gpu_runs_on_one() -> None:
    """cuDNN before 9.0 or for CUDA 11, and cuBLAS before CUDA 11, have no code for later generations, whatever the framework has."""
    for gpu in BY_CAPABILITY.values():
        for distribution in ("tensorflow", "tensorflow-gpu", "torch", "jax-cuda12-pjrt", "paddlepaddle-gpu", "faiss-gpu"):
            for row in MATRIX.releases(distribution):
                cuda, cudnn, place = row.built_with_cuda, row.cudnn, gpu.compute_capability
                old = cuda is not None and cuda.major <= 10 and place.major >= 8
                bound = cuda is not None and cudnn is not None and (cudnn.major <= 8 or cuda.major == 11) and place.major >= 10
                if old or bound:
                    assert fit_of_release(row, place, MATRIX) in {*UNSUPPORTED_FITS, Fit.UNKNOWN}, (
                        distribution,
                        str(row.release),
                        str(place),
                    )


def test_ptx_of_a_cudnn_counts_from_9_0_for_cuda_12_on() -> None:
    for row in MATRIX.rows(CUDNN):
        code = cudnn_code(row.release, row.cuda, row, MATRIX)
        if row.ptx is not None:
            assert code is not None
            assert code.ptx == (row.ptx if row.release.major >= 9 and row.cuda >= 12 else ())


@pytest.mark.parametrize(
    ("name", "oldest", "newest", "wheel"),
    [
        ("GTX 1080", 367, 580, ("torch", "", "2.8.0", NONE)),
        ("GTX 1080", 367, 580, ("torch", "cu126", "2.8", KERNELS)),
        ("RTX 5090", 570, None, ("tensorflow", "", "2.21.0", NONE)),  # drivers refuse its PTX there: compat/faults.csv
        ("RTX 4090", 520, None, ("torch", "", "2.5.1", KERNELS)),
        ("H100", 520, None, ("tensorflow", "", "2.15.1", PTX)),
    ],
)
def test_known_cases(name: str, oldest: int, newest: int | None, wheel: tuple[str, str, str, str]) -> None:
    gpu = MATRIX.gpu(name)
    assert gpu is not None
    found = support_for_product(gpu, MATRIX, "")
    assert (found.oldest_driver, found.newest_driver if found.dropped else None) == (oldest, newest)
    assert wheel in {
        (releases.distribution, releases.build, release, releases.code) for releases in found.wheels for release in releases.releases
    }
    assert all(MATRIX.source(identifier) for identifier in found.source)


def test_a_jetson_is_sent_to_nvidias_own_builds() -> None:
    gpu = MATRIX.gpu("Jetson AGX Orin")
    assert gpu is not None
    assert support_for_product(gpu, MATRIX, "").wheels == ()
