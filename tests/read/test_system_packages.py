"""The driver's packages in the lists of dpkg, apt, rpm and pacman."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import FabricManager, Fact
from tests.read.reading import causes, read

MODULE = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 10:11:12 UTC 2025\n"
LISTS = (
    "ii  libnvidia-compute-570:amd64  570.124.06-0ubuntu1  amd64  NVIDIA libcompute package\n",
    "ii  libcuda1:amd64  570.124.06-1  amd64  NVIDIA CUDA Driver Library\n",
    "Upgrade: libnvidia-compute-570:amd64 (570.86.15-0ubuntu1, 570.124.06-0ubuntu1)\n",
    "nvidia-driver-cuda-libs-570.124.06-1.el9.x86_64\n",
    "xorg-x11-drv-nvidia-cuda-libs-3:570.124.06-1.fc41.x86_64\n",
    "nvidia-utils 570.124.06-2\n",
)


@pytest.mark.parametrize("packages", LISTS)
def test_libraries_newer_than_the_loaded_module_are_found(packages: str, matrix: Matrix) -> None:
    assert causes(MODULE + packages, matrix) == ["driver-library-mismatch"]


@pytest.mark.parametrize("packages", LISTS)
def test_libraries_of_the_loaded_module_are_in_order(packages: str, matrix: Matrix) -> None:
    assert causes(MODULE + packages.replace("570.124.06", "570.86.15"), matrix) == []


@pytest.mark.parametrize(
    "package",
    [
        "nvidia-fabricmanager-575 575.57.08-0ubuntu1\n",
        "ii  nvidia-fabricmanager-575  575.57.08-1  amd64\n",
        "nvidia-fabric-manager-575.57.08-1.x86_64\n",
    ],
)
def test_the_version_of_the_fabric_manager_is_read(package: str, matrix: Matrix) -> None:
    manager = read(package, matrix).fabric_manager
    assert isinstance(manager, FabricManager)
    assert isinstance(manager.version, Fact)
    assert manager.version.value == "575.57.08"


@pytest.mark.parametrize(
    ("package", "running", "other"),
    [
        (
            "kmod-nvidia-6.14.6-300.fc42.x86_64.x86_64 3:570.144-1.fc42 @commandline",
            "6.14.9-300.fc42.x86_64",
            "6.14.6-300.fc42.x86_64",
        ),
        ("kmod-nvidia-open-6.12.4-200.fc41.x86_64-565.77-1.fc41.x86_64", "6.12.9-200.fc41.x86_64", "6.12.4-200.fc41.x86_64"),
        ("ii  linux-modules-nvidia-550-server-open-6.8.0-45-generic  6.8.0-45.45+1  amd64", "6.8.0-49-generic", "6.8.0-45-generic"),
    ],
)
def test_a_package_of_modules_for_another_kernel_shows_that_none_is_built(package: str, running: str, other: str, matrix: Matrix) -> None:
    failed = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    library = "nvidia-utils 570.124.06-2\n"
    text = f"$ uname -r\n{running}\n{package}\n{library}{failed}"
    assert causes(text, matrix) == ["kernel-module-not-built"]
    assert causes(text.replace(other, running), matrix) != ["kernel-module-not-built"]


@pytest.mark.parametrize("says", ["dpkg says {}", "`dpkg -l` shows {}", "My dpkg list has {}"])
def test_a_row_may_stand_in_a_sentence(says: str, matrix: Matrix) -> None:
    row = "ii  linux-modules-nvidia-550-6.8.0-45-generic 6.8.0-45.45 amd64"
    text = f"uname -r is 6.8.0-49-generic, {says.format(row)}, nvidia-smi couldn't communicate with the NVIDIA driver.\n"
    assert causes(text, matrix)[:1] == ["kernel-module-not-built"]
    assert causes(text.replace("6.8.0-45-generic", "6.8.0-49-generic"), matrix)[:1] != ["kernel-module-not-built"]
