from __future__ import annotations

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.findings import Action, Policy
from gpudoctor.snapshot import Host, Nvml, NvmlGpu, Platform, Snapshot
from gpudoctor.versions import Version
from tests.builders import ABSENT, address, in_docker, machine
from tests.diagnose.rules.asking import MATRIX

DOWNLOADS = "https://www.nvidia.com/drivers"


def on(system: str = "ubuntu-24.04", *capabilities: str) -> Snapshot:
    """A machine without a driver and with GPUs of these compute capabilities; `system` is a distribution with its release."""
    name, _, release = system.partition("-")
    host = Host(platform=Platform.LINUX, architecture="x86_64", distribution=name, distribution_version=release)
    gpus = tuple(NvmlGpu(number, address=address(number), compute_capability=capability) for number, capability in enumerate(capabilities))
    return machine(len(gpus), host=host, nvml=Nvml(gpus=gpus), kernel_driver=ABSENT, libcuda=ABSENT)


def view(snapshot: Snapshot) -> MachineView:
    return MachineView(snapshot, MATRIX, Policy())


@pytest.mark.parametrize(
    ("platform", "title", "command"),
    [
        (Platform.LINUX, "Install the NVIDIA driver, then reboot", "sudo ubuntu-drivers install"),
        (Platform.WSL1, f"Install the NVIDIA driver in Windows, never in WSL: {DOWNLOADS}", ""),
        (Platform.WSL2, f"Install the NVIDIA driver in Windows, never in WSL: {DOWNLOADS}", ""),
        (Platform.WINDOWS, f"Install the NVIDIA driver: {DOWNLOADS}", ""),
        (Platform.JETSON, "Update JetPack, which contains the Jetson's driver", "sudo apt update && sudo apt install nvidia-jetpack"),
    ],
)
def test_the_driver_is_installed_where_it_runs(platform: Platform, title: str, command: str) -> None:
    fix = update_driver(view(machine(host=Host(platform=platform, distribution="ubuntu"))))
    assert (fix.title, fix.command, fix.action) == (title, command, Action.UPDATE_DRIVER)


def test_a_container_uses_the_drivers_of_its_host() -> None:
    fix = update_driver(view(machine(container=in_docker())))
    assert (fix.title, fix.command) == ("Install the NVIDIA driver on the host; a container uses the host's driver.", "")


def test_no_driver_supports_the_newest_and_the_oldest_gpu_together() -> None:
    fix = update_driver(view(on("ubuntu-24.04", "12.0", "6.1")))
    assert (fix.title.partition(":")[0], fix.action) == ("Remove the oldest or the newest GPU", Action.REPLACE_HARDWARE)


def test_a_driver_that_drops_the_gpu_is_not_installed() -> None:
    fix = update_driver(view(on("ubuntu-24.04", "6.1")), Version(590, 44, 1, text="590.44.01"))
    assert (fix.title.partition(",")[0], fix.command, fix.action) == ("Keep driver branch 580", "", Action.REINSTALL_PACKAGE)


@pytest.mark.parametrize(
    ("system", "capability", "title", "command"),
    [
        (
            "rhel-8.9",
            "8.0",
            "from NVIDIA's repository for RHEL 8.9",
            "module enable nvidia-driver:open-dkms && sudo dnf install nvidia-open",
        ),
        (
            "rhel-8.9",
            "6.1",
            "from NVIDIA's repository for RHEL 8.9",
            "module enable nvidia-driver:580-dkms && sudo dnf install cuda-drivers",
        ),
        ("rhel-10.0", "8.0", "from NVIDIA's repository for RHEL 10.0", "cuda-rhel10.repo && sudo dnf install nvidia-open"),
        ("rhel-10.0", "6.1", "NVIDIA's installer of branch 580, with its proprietary kernel modules", ""),
        ("amzn-2023", "8.0", "from NVIDIA's repository for Amazon Linux 2023", "sudo dnf install nvidia-open"),
        ("fedora-42", "8.0", "Install the NVIDIA driver, then reboot", "akmod-nvidia xorg-x11-drv-nvidia-cuda"),
        ("fedora-42", "12.0", "to branch 570 or newer with NVIDIA's installer, with its open kernel modules", ""),
        ("debian-12", "8.0", "(Debian 12 has 535.", "sudo apt install nvidia-driver firmware-misc-nonfree"),
        ("debian-12", "12.0", "from NVIDIA's repository for Debian 12", "sudo apt update && sudo apt install nvidia-open"),
        ("ubuntu-24.04", "6.1", "(Ubuntu 24.04 has 580.", "sudo apt install nvidia-driver-580"),
        ("arch", "8.0", "Install the NVIDIA driver, then reboot", "sudo pacman -Syu nvidia-open"),
        ("arch", "12.0", "to branch 570 or newer, with its open kernel modules, then reboot", "sudo pacman -Syu nvidia-open"),
        ("arch", "6.1", "from the AUR: nvidia-580xx-dkms", ""),
        ("azurelinux-3.0", "8.0", "Install the NVIDIA driver with NVIDIA's installer, from", ""),
    ],
)
def test_each_distribution_installs_a_driver_that_supports_the_gpu(system: str, capability: str, title: str, command: str) -> None:
    fix = update_driver(view(on(system, capability)))
    assert title in fix.title
    assert fix.command.endswith(command)
    assert bool(fix.command) is bool(command)
    assert fix.needs == ("root", "download", "reboot")
