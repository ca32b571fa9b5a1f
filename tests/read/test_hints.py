"""What stands elsewhere in a text decides between the causes of an error."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from tests.read.reading import causes

NO_GPU = "torch.cuda.is_available() False, torch.cuda.device_count() 0\n"
CIRCULAR = "AttributeError: partially initialized module 'torch' has no attribute 'nn' (most likely due to a circular import)\n"


@pytest.mark.parametrize("text", ["|  No MIG devices found                  |\n", "|    No MIG devices found   |\n"])
def test_a_framework_without_a_gpu_beside_an_empty_list_of_mig_devices(text: str, matrix: Matrix) -> None:
    assert causes(NO_GPU + text, matrix) == ["mig-no-instances"]
    assert causes(NO_GPU, matrix) != ["mig-no-instances"]


@pytest.mark.parametrize("how", ["I installed nvidia-driver-535 with apt inside of it", "installed the nvidia-utils-550 package"])
def test_a_driver_for_linux_in_wsl(how: str, matrix: Matrix) -> None:
    failed = "Failed to initialize NVML: N/A\nUbuntu 22.04 in WSL2\n"
    assert causes(failed + how, matrix) == ["wsl-linux-driver-installed"]
    assert causes(failed + how.replace("nvidia-", "amdgpu-"), matrix) != ["wsl-linux-driver-installed"]


def test_a_file_of_ones_own_with_the_name_of_a_framework(matrix: Matrix) -> None:
    assert causes(f'{CIRCULAR}  File "/home/me/proj/torch.py", line 1, in <module>\n', matrix) == ["two-copies-of-framework"]


def test_an_extra_that_nobody_may_have_asked_for_does_not_narrow_what_jax_requires(matrix: Matrix) -> None:
    parts = "jax 0.4.35\njaxlib 0.4.35\njax-cuda12-plugin 0.4.35\nJAX_PLATFORMS=cpu\n"
    assert causes(parts, matrix) == ["env-hides-gpu"]
    assert "jax-plugin-version-mismatch" in causes(parts.replace("jaxlib 0.4.35", "jaxlib 0.4.30"), matrix)
