"""The tables of supported GPUs agree, release by release, with the code of each wheel."""

from __future__ import annotations

import pytest

from gpudoctor.derive.gpu_code import Fit, fit_with_faults, runs
from gpudoctor.derive.gpu_support import KERNELS, NONE, PLATFORM, PTX, UNKNOWN, support
from gpudoctor.matrix import GpuProduct
from gpudoctor.matrix.tables import GPUS, TORCH_BUILDS
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
BY_CAPABILITY = {str(row.compute_capability): row for row in MATRIX.rows(GPUS) if row.kind != "jetson"}
WORDS = {Fit.NATIVE: KERNELS, Fit.PTX: PTX, Fit.TOO_NEW: NONE, Fit.TOO_OLD: NONE, Fit.UNKNOWN: UNKNOWN}


@pytest.mark.parametrize("gpu", BY_CAPABILITY.values(), ids=BY_CAPABILITY)
def test_every_release_with_cuda_is_there_once_and_meets_the_gpu_as_its_code_does(gpu: GpuProduct) -> None:
    said = {(one.distribution, one.build, release): one.code for one in support(gpu, MATRIX, "").wheels for release in one.releases}
    for distribution in {name for name, _, _ in said}:
        rows = [row for row in MATRIX.releases(distribution, PLATFORM) if row.accelerator == "cuda"]
        assert [str(row.release) for row in rows] == [release for name, build, release in said if name == distribution and not build]
        for row in rows:
            fit = fit_with_faults(row, gpu.compute_capability, MATRIX.faults(distribution, str(row.release)))
            assert said[distribution, "", str(row.release)] == WORDS[fit]
    for built in MATRIX.rows(TORCH_BUILDS):
        if built.platform == PLATFORM:
            assert said["torch", built.local, str(built.release)] == WORDS[runs(built, gpu.compute_capability)]


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
    found = support(gpu, MATRIX, "")
    assert (found.oldest_driver, found.newest_driver if found.dropped else None) == (oldest, newest)
    assert wheel in {(one.distribution, one.build, release, one.code) for one in found.wheels for release in one.releases}
    assert all(MATRIX.source(identifier) for identifier in found.source)


def test_a_jetson_is_sent_to_nvidias_own_builds() -> None:
    gpu = MATRIX.gpu("Jetson AGX Orin")
    assert gpu is not None
    assert support(gpu, MATRIX, "").wheels == ()
