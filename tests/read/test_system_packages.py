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
