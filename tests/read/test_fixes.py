"""The fixes of causes that only a log names are commands for the framework, platform and driver that the text states."""

from __future__ import annotations

import re

import pytest

from gpudoctor.matrix import Matrix
from tests.read.reading import causes, first_fix

CPU_BUILD = "AssertionError: Torch not compiled with CUDA enabled\n"
NO_PLUGIN = "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to cpu.\n"
NO_LIBRARIES = (
    "W gpu_device.cc:2251] Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are installed\n"
)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (CPU_BUILD, r"torch==\S+\+cu13\d --index-url \S+/cu13\d$"),
        (f"{CPU_BUILD}Windows 11, Python 3.12, RTX 4060", r"torch==\S+\+cu13\d --index-url \S+/cu13\d$"),
        (f"{CPU_BUILD}driver 535 on my GTX 1080", r"torch==\S+\+cu126 --index-url \S+/cu126$"),
        (f"{NO_PLUGIN}jax 0.5.1\njaxlib 0.5.1", r"'jax\[cuda12\]==0\.5\.1'$"),
    ],
)
def test_a_build_without_cuda_is_replaced_by_one_that_suits_the_machine(text: str, command: str, matrix: Matrix) -> None:
    assert "cpu-only-build" in causes(text, matrix)
    fix = first_fix(text, matrix)
    assert re.search(command, fix), fix


def test_a_wheel_that_cannot_find_its_libraries_is_replaced_by_one_that_can(matrix: Matrix) -> None:
    packages = "tensorflow 2.16.1\nnvidia-cublas-cu12 12.3.4.1\nnvidia-cudnn-cu12 8.9.7.29\n"
    assert causes(NO_LIBRARIES + packages, matrix)[0] == "pip-nvidia-libs-not-on-path"
    assert first_fix(NO_LIBRARIES + packages, matrix).endswith("'tensorflow[and-cuda]==2.16.2'")
    assert causes(NO_LIBRARIES + packages.replace("2.16.1", "2.17.0"), matrix)[0] != "pip-nvidia-libs-not-on-path"
