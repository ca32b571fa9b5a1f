"""What the platform decides: causes of another platform are no causes, and the platform's own lead."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Host, Platform
from tests.read.reading import causes, read

NO_DRIVER = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n"
WSL_FORM = """\
### Windows Version
Microsoft Windows [Version 10.0.22631.4317]
### Are you using WSL 1 or WSL 2?
- [X] WSL 2
- [ ] WSL 1
### Distro Version
Ubuntu 24.04
"""
PROC_VERSION = (
    "Linux version 5.15.167.4-microsoft-standard-WSL2 (root@f9c826d3017f) (gcc (GCC) 11.2.0) #1 SMP Tue Nov 5 00:21:55 UTC 2024\n"
)
JETSON = ">>> torch.__version__\n'2.4.1'\n>>> torch.cuda.is_available()\nFalse\n"
TEGRA = "Python platform: Linux-5.10.120-tegra-aarch64-with-glibc2.31\n"


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("wsl-driver-stack-broken", WSL_FORM + NO_DRIVER),
        ("wsl-driver-stack-broken", PROC_VERSION + NO_DRIVER),
        ("no-driver", NO_DRIVER),
        ("jetson-needs-vendor-wheel", JETSON + TEGRA),
        ("jetson-needs-vendor-wheel", JETSON + "# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref\nuname -m: aarch64\n"),
        ("jetson-needs-vendor-wheel", "Device: Jetson Orin NX\nArchitecture: aarch64\nJetPack 6.0\n" + JETSON),
    ],
)
def test_the_platform_decides(cause: str, text: str, matrix: Matrix) -> None:
    assert causes(text, matrix)[:1] == [cause]


@pytest.mark.parametrize(("text", "release"), [(TEGRA, "35"), ("JetPack: 6.0\n", "36"), ("Device: Jetson AGX Thor\nJetPack 7.0\n", "38")])
def test_the_release_of_jetson_linux_follows_from_kernel_or_jetpack(text: str, release: str, matrix: Matrix) -> None:
    host = read(text, matrix).host
    assert isinstance(host, Host)
    assert (host.platform, host.tegra) == (Platform.JETSON, release)


def test_a_jetpack_in_prose_makes_no_jetson(matrix: Matrix) -> None:
    host = read("It also works with JetPack 6.0.\nPyTorch version: 2.5.1\n", matrix).host
    assert isinstance(host, Host)
    assert host.platform is not Platform.JETSON


def test_another_module_that_the_kernel_rejects_is_no_cause(matrix: Matrix) -> None:
    assert (
        causes("PyTorch version: 2.5.1+cu124\nmodprobe: ERROR: could not insert 'v4l2loopback': Key was rejected by service\n", matrix)
        == []
    )


@pytest.mark.parametrize("words", ["is_available(): False", "is_available() returns False", "is_available() -> False"])
def test_an_answer_on_the_line_of_the_question_is_read(words: str, matrix: Matrix) -> None:
    assert any("cannot use CUDA" in remark for remark in read(f"torch.cuda.{words}\n", matrix).remarks)
