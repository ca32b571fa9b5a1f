from __future__ import annotations

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.driver_libraries import LIBCUDA, PTX_COMPILER, install_driver_library
from gpudoctor.findings import Fix, Policy
from gpudoctor.snapshot import Host, Platform
from tests.builders import ABSENT, in_docker, machine
from tests.diagnose.rules.asking import MATRIX


def fixes(library: str = LIBCUDA, system: str = "ubuntu", **changes: object) -> tuple[Fix, ...]:
    host = Host(platform=Platform.LINUX, architecture="x86_64", distribution=system)
    return install_driver_library(MachineView(machine(1, host=host, **changes), MATRIX, Policy()), library)


def test_a_container_gets_the_library_from_its_host() -> None:
    (fix,) = fixes(container=in_docker())
    assert fix.title.startswith(f"Start the container with the driver's {LIBCUDA}: NVIDIA_DRIVER_CAPABILITIES")


def test_without_a_loaded_driver_the_whole_driver_is_installed() -> None:
    (fix,) = fixes(nvml=ABSENT, kernel_driver=ABSENT, libcuda=ABSENT)
    assert fix.title.startswith("Install the complete NVIDIA driver")


@pytest.mark.parametrize(
    ("library", "system", "command"),
    [
        (LIBCUDA, "ubuntu", "sudo apt install --reinstall 'libnvidia-compute-550=550.163.01-*'"),
        (LIBCUDA, "debian", "sudo apt install --reinstall 'libcuda1=550.163.01-*'"),
        (PTX_COMPILER, "debian", "sudo apt install --reinstall 'libnvidia-ptxjitcompiler1=550.163.01-*'"),
        (LIBCUDA, "arch", ""),
    ],
)
def test_the_version_of_the_loaded_driver_is_installed_where_its_packages_are_kept(library: str, system: str, command: str) -> None:
    exact, *rest = fixes(library, system)
    assert exact.command == command or (not command and not rest)
    assert (exact if not rest else rest[0]).title.startswith("Install the complete NVIDIA driver 550.163.01 or newer")
