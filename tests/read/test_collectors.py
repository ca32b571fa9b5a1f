"""What real collectors, frameworks and drivers print on a machine without a GPU, and over a libcuda that fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Fact
from tests.read.reading import causes, read
from tests.seams import BRANCHES, DriverLibraries, environments, without_mknod
from tests.seams.build import SeamUnavailable

CudaEnviron = Callable[..., dict[str, str]]
START = "import torch; torch.cuda.init()"


def printed(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """What a program prints, its errors too."""
    run = subprocess.run(without_mknod(command), env=environment, text=True, capture_output=True, timeout=200, check=False)
    return run.stdout + run.stderr


@pytest.mark.debian
@pytest.mark.parametrize("branch", BRANCHES)
def test_nvidia_smi_without_its_kernel_module(driver_libraries: Callable[[str], DriverLibraries], branch: str, matrix: Matrix) -> None:
    driver = driver_libraries(branch)
    assert causes(printed([str(driver.smi)], driver.environ()), matrix) == ["no-driver"]


@pytest.mark.debian
def test_nvidia_smi_over_another_kernel_module(driver_libraries: Callable[[str], DriverLibraries], matrix: Matrix) -> None:
    driver = driver_libraries("550")
    assert causes(printed([str(driver.smi)], driver.environ(kernel_driver="535.183.01")), matrix) == ["driver-library-mismatch"]


@pytest.mark.index
@pytest.mark.parametrize(("code", "cause"), [(802, "fabric-manager-missing"), (803, "driver-library-mismatch")])
def test_pytorch_over_a_libcuda_that_fails(
    framework_python: Callable[[str], Path], fake_cuda: CudaEnviron, code: int, cause: str, matrix: Matrix
) -> None:
    text = printed([str(framework_python("torch")), "-c", START], fake_cuda(cuda="13.9", calls={"cuInit": f"return {code}"}))
    assert causes(text, matrix)[:1] == [cause]


PIP = (sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--disable-pip-version-check")
UV = ("uv", "pip", "install", "--dry-run", "--no-deps", "--python", sys.executable)


@pytest.mark.index
@pytest.mark.parametrize("installer", [PIP, UV], ids=["pip", "uv"])
@pytest.mark.parametrize(
    ("wanted", "cause"),
    [
        ("torch==1.4.0", "python-version-unsupported"),
        ("tensorflow==2.3.4", "python-version-unsupported"),
        ("torch==99.1", "package-not-installable"),
    ],
)
def test_an_installer_that_refuses(installer: Sequence[str], wanted: str, cause: str, matrix: Matrix) -> None:
    try:
        environments.may_download()
    except SeamUnavailable as reason:
        pytest.skip(str(reason))
    text = printed(
        [shutil.which(installer[0], path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or installer[0], *installer[1:], wanted]
    )
    assert causes(text, matrix)[:1] == [cause]


@pytest.mark.index
def test_pytorchs_collector_states_its_release_and_its_cuda(framework_python: Callable[[str], Path], matrix: Matrix) -> None:
    snapshot = read(printed([str(framework_python("torch")), "-m", "torch.utils.collect_env"]), matrix)
    assert isinstance(snapshot.frameworks, tuple)
    (torch,) = snapshot.frameworks
    assert isinstance(torch.version, Fact)
    assert isinstance(torch.built_with_cuda, Fact)
    assert torch.sees_gpu is False


@pytest.mark.index
def test_jaxs_collector_states_its_releases_and_its_device(framework_python: Callable[[str], Path], matrix: Matrix) -> None:
    text = printed([str(framework_python("jax")), "-c", "import jax; jax.print_environment_info()"])
    assert causes(text, matrix) == ["cpu-only-build"]
