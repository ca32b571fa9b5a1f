"""Which machine, system and user."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpudoctor.probe.host import host
from gpudoctor.snapshot import Cause, Host, Missing, Platform
from tests.probe.places import plant

RELEASES = {
    "6.1.0-37-amd64": Platform.LINUX,
    "5.15.167.4-microsoft-standard-WSL2": Platform.WSL2,
    "4.19.84-microsoft-standard": Platform.WSL2,
    "6.6.36.3-Microsoft-custom-WSL2": Platform.WSL2,
    "4.4.0-19041-Microsoft": Platform.WSL1,
}


def at(root: str, *, identify: bool = False) -> Host:
    return host(root, {}, identify=identify)


@pytest.mark.parametrize(("release", "platform"), RELEASES.items())
def test_platform_follows_from_the_kernels_name(tmp_path: Path, release: str, platform: Platform) -> None:
    found = at(plant(tmp_path, {"/proc/sys/kernel/osrelease": f"{release}\n"}))
    assert (found.platform, found.kernel) == (platform, release)


@pytest.mark.parametrize(
    "files",
    [
        {"/etc/nv_tegra_release": "# R36\n"},
        {"/proc/device-tree/model": b"NVIDIA Jetson AGX Orin Developer Kit\0"},
        {"/sys/firmware/devicetree/base/model": b"NVIDIA Tegra\0"},
    ],
)
def test_jetson(tmp_path: Path, files: dict[str, str]) -> None:
    assert at(plant(tmp_path, {"/proc/sys/kernel/osrelease": "5.15.136-tegra\n", **files})).platform is Platform.JETSON


def test_wsl_with_a_custom_kernel(tmp_path: Path) -> None:
    root = plant(tmp_path, {"/proc/sys/kernel/osrelease": "6.9.1\n", "/dev/dxg": "", "/usr/lib/wsl/lib/libcuda.so.1": ""})
    assert at(root).platform is Platform.WSL2


def test_distribution_is_read_with_and_without_quotes(tmp_path: Path) -> None:
    found = at(plant(tmp_path, {"/etc/os-release": "# comment\nID=rocky\nVERSION_ID=\"9.4\"\nID_LIKE='rhel centos fedora'\nBROKEN\n"}))
    assert (found.distribution, found.distribution_version, found.distribution_like) == ("rocky", "9.4", "rhel centos fedora")


def test_second_location_of_os_release(tmp_path: Path) -> None:
    assert at(plant(tmp_path, {"/usr/lib/os-release": "ID=fedora\n"})).distribution == "fedora"


def test_rolling_distribution_has_no_version(tmp_path: Path) -> None:
    found = at(plant(tmp_path, {"/etc/os-release": "ID=arch\n"})).distribution_version
    assert isinstance(found, Missing)
    assert found.cause is Cause.ABSENT


def test_a_recorded_tree_never_shows_this_machine(tmp_path: Path) -> None:
    found = at(str(tmp_path), identify=True)
    for value in (found.kernel, found.architecture, found.hostname, found.distribution):
        assert isinstance(value, Missing)
        assert value.cause is Cause.ABSENT


def test_the_live_machine_is_described() -> None:
    found = at("/", identify=True)
    assert (found.kernel, found.architecture, found.uid) == (os.uname().release, os.uname().machine, os.geteuid())
    assert isinstance(found.hostname, str)


def test_names_are_only_kept_on_request(tmp_path: Path) -> None:
    root = plant(tmp_path, {"/etc/passwd": f"alice:x:{os.geteuid()}:100::/home/alice:/bin/sh\n", "/proc/sys/kernel/hostname": "box\n"})
    known, unknown = at(root, identify=True), at(root)
    assert (known.username, known.hostname) == ("alice", "box")
    assert isinstance(unknown.username, Missing)
    assert isinstance(unknown.hostname, Missing)
