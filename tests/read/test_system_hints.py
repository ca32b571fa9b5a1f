"""What tells the operating system without naming it as such counts where nothing else names one, and only if all tell the same."""

from __future__ import annotations

import itertools

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Host, Missing, Platform
from tests.read.reading import first_fix, read

_BLIND = "torch.cuda.is_available() returns False\n"
TOLD = {
    "ii  nvidia-utils-535  535.230.02-0ubuntu0.22.04.3\n": (Platform.LINUX, "ubuntu", "22.04"),
    "sudo apt install nvidia-utils-470  # version 470.256.02-0ubuntu0.24.04.1, or\n": (Platform.LINUX, "ubuntu", "24.04"),
    "Setting up nvidia-driver (535.183.01-1~deb12u1) ...\n": (Platform.LINUX, "debian", "12"),
    "akmod-nvidia-560.35.03-1.fc41.x86_64\n": (Platform.LINUX, "fedora", "41"),
    "kmod-nvidia-latest-dkms-550.90.07-1.el9.x86_64\n": (Platform.LINUX, "rhel", "9"),
    "sudo pacman -Syu ended without an error\n": (Platform.LINUX, "arch", ""),
    "sudo zypper dup ran this morning\n": (Platform.LINUX, "suse", ""),
    "Fedora 41: no CUDA since the last upgrade\n": (Platform.LINUX, "fedora", "41"),
    "a fresh Ubuntu Server 24.04 with one card\n": (Platform.LINUX, "ubuntu", "24.04"),
    "headless Rocky Linux 9.4, one L4\n": (Platform.LINUX, "rocky", "9.4"),
    "Arch, the card is an RTX 3070\n": (Platform.LINUX, "arch", ""),
    "python stops in model.fit. tensorflow 2.9 on windows\n": (Platform.WINDOWS, None, None),
    "OSError: [WinError 126] The specified module could not be found.\n": (Platform.WINDOWS, None, None),
    "my MacBook Pro does not find cuda\n": (Platform.MACOS, None, None),
}
TOLD_NOTHING = (
    "I followed the guide for Ubuntu 22.04\n",
    "it works on a Debian 12 server of my friend\n",
    "the image is from Ubuntu 22.04\n",
    "I ssh from my MacBook\n",
    "the architecture is listed in the docs\n",
    "the last window of the plot stays white\n",
    "does it support Fedora 41?\n",
)


def host(text: str, matrix: Matrix) -> Host:
    found = read(_BLIND + text, matrix).host
    assert isinstance(found, Host)
    return found


def _known(value: object) -> object:
    return None if isinstance(value, Missing) else value


@pytest.mark.parametrize("text", TOLD)
def test_a_hint_tells_the_system(text: str, matrix: Matrix) -> None:
    platform, distribution, release = TOLD[text]
    found = host(text, matrix)
    assert found.platform is platform
    assert _known(found.distribution) == distribution
    assert (_known(found.distribution_version) or None) == (release or None)


@pytest.mark.parametrize("text", TOLD_NOTHING)
def test_what_is_about_another_machine_tells_nothing(text: str, matrix: Matrix) -> None:
    assert isinstance(host(text, matrix).platform, Missing)


def test_hints_that_differ_tell_nothing(matrix: Matrix) -> None:
    for (first, one), (second, other) in itertools.combinations(TOLD.items(), 2):
        if one[:2] != other[:2]:
            assert isinstance(host(first + second, matrix).distribution, Missing), (first, second)


@pytest.mark.parametrize("text", TOLD)
def test_what_names_the_system_outweighs_hints(text: str, matrix: Matrix) -> None:
    found = host(f'{text}PRETTY_NAME="Ubuntu 20.04.6 LTS"\n', matrix)
    assert (found.platform, found.distribution, found.distribution_version) == (Platform.LINUX, "ubuntu", "20.04")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("akmod-nvidia-560.35.03-1.fc41.x86_64\nmodinfo: ERROR: Module nvidia not found.\n", "akmods --force"),
        ("Rocky Linux 9.4\nbash: nvidia-smi: command not found\ntorch.cuda.is_available() is False\nRTX A4000\n", "dnf"),
        ("Fedora 41: the kernel headers for this kernel do not seem to be installed.\n", "kernel-devel"),
    ],
)
def test_a_fix_has_the_commands_of_the_hinted_system(text: str, command: str, matrix: Matrix) -> None:
    assert command in first_fix(text, matrix)
