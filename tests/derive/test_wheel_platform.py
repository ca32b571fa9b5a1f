from __future__ import annotations

import pytest

from gpudoctor.derive import wheel_platform
from gpudoctor.snapshot import Host, Missing, Platform, Python
from tests.builders import ABSENT


@pytest.mark.parametrize(
    ("system", "kernel", "interpreter", "word"),
    [
        (Platform.LINUX, "x86_64", ABSENT, "linux_x86_64"),
        (Platform.LINUX, "aarch64", "aarch64", "linux_aarch64"),
        (Platform.WSL2, "x86_64", "x86_64", "linux_x86_64"),
        (Platform.JETSON, "aarch64", ABSENT, "linux_aarch64"),
        (Platform.WINDOWS, "x86_64", "AMD64", "win_amd64"),
        (Platform.WINDOWS, "AMD64", ABSENT, "win_amd64"),
        (Platform.MACOS, "arm64", ABSENT, "macos_arm64"),
        (Platform.MACOS, "arm64", "x86_64", "macos_x86_64"),
        (Platform.LINUX, "x86_64", "i686", ""),
        (Platform.LINUX, "ppc64le", ABSENT, ""),
        (Platform.LINUX, ABSENT, ABSENT, ""),
        (Platform("haiku"), "x86_64", ABSENT, ""),
        (ABSENT, "x86_64", ABSENT, ""),
    ],
)
def test_the_platform_is_that_of_matching_wheels(
    system: Platform | Missing, kernel: str | Missing, interpreter: str | Missing, word: str
) -> None:
    host = Host(platform=system, architecture=kernel)
    assert wheel_platform.platform_name(host, Python("python", "named", machine=interpreter)) == word


def test_an_unexamined_machine_has_no_platform() -> None:
    assert wheel_platform.platform_name(ABSENT, ABSENT) == ""


def test_markers_are_those_of_the_platform() -> None:
    assert wheel_platform.platform_markers("win_amd64") == {
        "sys_platform": "win32",
        "platform_system": "Windows",
        "os_name": "nt",
        "platform_machine": "AMD64",
    }
    assert wheel_platform.platform_markers("linux_aarch64")["platform_machine"] == "aarch64"
    assert wheel_platform.platform_markers("macos_arm64")["sys_platform"] == "darwin"
    assert wheel_platform.platform_markers("") == {}


@pytest.mark.parametrize(("word", "text"), [("win_amd64", "Windows (amd64)"), ("linux_x86_64", "Linux (x86_64)"), ("any", "any")])
def test_platforms_have_readable_names(word: str, text: str) -> None:
    assert wheel_platform.platform_label(word) == text
