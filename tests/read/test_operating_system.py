"""What names the operating system: os-release, uname, hostnamectl, systeminfo, wsl.exe, nv_tegra_release."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Host, Missing, Platform
from tests.read.mangled import mangled
from tests.read.reading import causes, is_read_or_refused, read

OS_RELEASE = """\
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
VERSION_ID="12"
VERSION="12 (bookworm)"
VERSION_CODENAME=bookworm
ID=debian
"""
ROCKY = 'NAME="Rocky Linux"\nVERSION="9.4 (Blue Onyx)"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\n'
LSB = "Distributor ID:\tUbuntu\nDescription:\tUbuntu 22.04.5 LTS\nRelease:\t22.04\nCodename:\tjammy\n"
HOSTNAMECTL = """\
 Static hostname: node7
       Icon name: computer-server
Operating System: Ubuntu 24.04.1 LTS
          Kernel: Linux 6.8.0-1021-aws
    Architecture: x86-64
"""
UNAME = "Linux vm 6.18.44-fc-v509 #1 SMP PREEMPT_DYNAMIC @0 x86_64 GNU/Linux\n"
WSL2 = "Linux DESKTOP-7 5.15.167.4-microsoft-standard-WSL2 #1 SMP Tue Nov 5 00:21:55 UTC 2024 x86_64 x86_64 x86_64 GNU/Linux\n"
WSL1 = "Linux LAPTOP 4.4.0-22621-Microsoft #2506-Microsoft Fri Jan 01 08:00:00 PST 2016 x86_64 x86_64 x86_64 GNU/Linux\n"
WSL_LIST = "PS C:\\> wsl -l -v\n  NAME              STATE           VERSION\n* Ubuntu-24.04      Running         {version}\n  docker-desktop    Stopped         2\n"
WSL_VERSION = "WSL version: 2.3.26.0\nKernel version: 5.15.167.4-1\nWSLg version: 1.0.65\nWindows version: 10.0.22631.4460\n"
SYSTEMINFO = "Host Name:                 PC\nOS Name:                   Microsoft Windows 11 Pro\nOS Version:                10.0.22631 N/A Build 22631\n"
SW_VERS = "ProductName:\t\tmacOS\nProductVersion:\t\t14.6.1\nBuildVersion:\t\t23G93\n"
TEGRA = "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8 01:49:37 UTC 2025\n"
JETSON = "Linux orin 5.15.148-tegra #1 SMP PREEMPT Tue Jan 7 17:14:38 PST 2025 aarch64 aarch64 aarch64 GNU/Linux\n"
ALL = (OS_RELEASE, ROCKY, LSB, HOSTNAMECTL, UNAME, WSL2, WSL1, WSL_LIST.format(version=2), WSL_VERSION, SYSTEMINFO, SW_VERS, TEGRA, JETSON)


def host(text: str, matrix: Matrix) -> Host:
    found = read(text, matrix).host
    assert isinstance(found, Host)
    return found


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        (OS_RELEASE, Platform.LINUX),
        (UNAME, Platform.LINUX),
        (HOSTNAMECTL, Platform.LINUX),
        (WSL2, Platform.WSL2),
        (OS_RELEASE + WSL2, Platform.WSL2),
        (WSL1, Platform.WSL1),
        (WSL_LIST.format(version=2), Platform.WSL2),
        (WSL_LIST.format(version=1), Platform.WSL1),
        (WSL_VERSION, Platform.WSL2),
        ("D:\\webui\\venv\\Lib\\site-packages\\torch\\__init__.py\n", Platform.WINDOWS),
        ("Command: 'E:\\\\ai\\\\Scripts\\\\python' -m pip\n", Platform.WINDOWS),
        (SYSTEMINFO, Platform.WINDOWS),
        ("Microsoft Windows [Version 10.0.19045.5011]\n", Platform.WINDOWS),
        (SW_VERS, Platform.MACOS),
        (TEGRA, Platform.JETSON),
        (JETSON, Platform.JETSON),
        (LSB + JETSON, Platform.JETSON),
    ],
)
def test_the_platform_is_named(text: str, platform: Platform, matrix: Matrix) -> None:
    assert host(text, matrix).platform is platform


@pytest.mark.parametrize(
    "text",
    [
        "I also tried it on Windows and on a Mac, where it works.\nCUDA: 12.4\n",
        "PyTorch version: 2.6.0+cu124\nCould it be WSL or a Jetson?\n",
    ],
)
def test_a_mere_mention_names_no_platform(text: str, matrix: Matrix) -> None:
    assert isinstance(host(text, matrix).platform, Missing)


def test_the_distribution_and_its_family_are_read(matrix: Matrix) -> None:
    debian, rocky, ubuntu = host(OS_RELEASE, matrix), host(ROCKY, matrix), host(LSB, matrix)
    assert (debian.distribution, debian.distribution_version) == ("debian", "12")
    assert (rocky.distribution, rocky.distribution_version, rocky.distribution_like) == ("rocky", "9.4", "rhel centos fedora")
    assert (ubuntu.distribution, ubuntu.distribution_version) == ("ubuntu", "22.04")


@pytest.mark.parametrize(
    ("text", "kernel", "architecture"),
    [
        (UNAME, "6.18.44-fc-v509", "x86_64"),
        (HOSTNAMECTL, "6.8.0-1021-aws", "x86_64"),
        (JETSON, "5.15.148-tegra", "aarch64"),
        ("Python platform: Linux-4.18.0-553.el8_10.x86_64-x86_64-with-glibc2.28\n", "4.18.0-553.el8_10.x86_64", "x86_64"),
        ("Python platform: Linux-6.6.87.2-microsoft-standard-WSL2-x86_64-with-glibc2.39\n", "6.6.87.2-microsoft-standard-WSL2", "x86_64"),
        ("$ uname -r\n6.12.8-arch1-1\n$ uname -m\nx86_64\n", "6.12.8-arch1-1", "x86_64"),
    ],
)
def test_the_running_kernel_is_read(text: str, kernel: str, architecture: str, matrix: Matrix) -> None:
    found = host(text, matrix)
    assert (found.kernel, found.architecture) == (kernel, architecture)


def test_the_release_of_jetson_linux_is_read(matrix: Matrix) -> None:
    assert host(TEGRA, matrix).tegra == "36.4.3"
    assert host("Jetpack: 6.0 [L4T 36.3.0]\n", matrix).tegra == "36.3.0"


@pytest.mark.parametrize("text", ALL)
def test_a_healthy_text_has_no_finding(text: str, matrix: Matrix) -> None:
    assert causes(text, matrix) in ([], ["wsl1"])
    assert bool(causes(text, matrix)) == (text == WSL1)


@given(data=st.data())
def test_any_part_in_any_order_is_read(data: st.DataObject, matrix: Matrix) -> None:
    assert is_read_or_refused(data.draw(mangled("".join(ALL))), matrix)
