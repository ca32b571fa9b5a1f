"""Lines that list what a machine has, and lines that only look like such a list."""

from __future__ import annotations

import pytest

from gpudoctor.read.lines import lines_of
from gpudoctor.read.readers import version_lists


def stated(text: str) -> dict[str, str]:
    assert version_lists.READER.blocks
    return {block.what: block.value for block in version_lists.READER.blocks(lines_of(text.encode(), "pasted.txt"))}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("RTX 3090, CUDA 11.8, torch 2.1.0+cu118", {"gpu prose:list 1.0": "RTX 3090", "toolkit": "11.8", "version:torch": "2.1.0+cu118"}),
        ("- Windows 11 / Python 3.11 / TF 2.14", {"os": "Windows 11", "python": "3.11", "version:tensorflow": "2.14"}),
        ("Ubuntu 22.04, driver 535.104.05, jax 0.4.30", {"os": "Ubuntu 22.04", "driver": "535.104.05", "version:jax": "0.4.30"}),
        ("jaxlib 0.4.30; jax-cuda12-plugin 0.4.28", {"package:jaxlib": "0.4.30", "package:jax-cuda12-plugin": "0.4.28"}),
        ("CentOS 7, tensorflow (cpu) 2.3.0", {"os": "CentOS 7", "version:tensorflow-cpu": "2.3.0"}),
        ("torch 2.6.0 (cu126) on aarch64", {"version:torch": "2.6.0+cu126", "architecture": "aarch64"}),
        ("Would tests differ on our T4 runners (driver 550.90.12, Python 3.11)?", {"driver": "550.90.12", "python": "3.11"}),
        ("The old server (driver 470.57.02) had no such problem", {}),
        ("I get an ImportError (torch 2.6.0, driver 575.57.08)", {"version:torch": "2.6.0", "driver": "575.57.08"}),
        ("2x Tesla P40 24GB", {"gpu prose:list 1.0": "Tesla P40"}),
        ("Windows 11 Pro RTX 4070 Ti", {"os": "Windows 11 Pro", "gpu prose:list 1.1": "RTX 4070 Ti"}),
        ("GTX 1660 SUPER win10", {"os": "win10", "gpu prose:list 1.0": "GTX 1660 SUPER"}),
        ("RTX 3060 12GB VRAM, torch 2.4.1+cu121", {"gpu prose:list 1.0": "RTX 3060", "version:torch": "2.4.1+cu121"}),
        ("NVIDIA RTX 3050 GA107, Windows 11", {"gpu prose:list 1.0": "RTX 3050", "os": "Windows 11"}),
        ("RuntimeError: CUDA error: no kernel image is available; torch 2.9.0+cu128", {"version:torch": "2.9.0+cu128"}),
        ("It is slow with int8; torch 2.4.1 or newer", {}),
        ("It worked before; torch 2.3.0", {}),
        ("Microsoft Windows 10", {"os": "Microsoft Windows 10"}),
        ("RTX 3080 or newer Windows 11 supports", {}),
        ("works with driver 550.54, fails with driver 590.44", {}),
        ("torch 2.4 needs CUDA 12.1 or newer", {}),
        ("Downloading torch-2.4.1 (797 MB), eta 0:01:02", {}),
        ("RTX 3090, RTX 4090 are supported but torch 1.7 is not", {}),
        ("torch 2.1.0, Python 3.10\ntorch 2.2.0, Python 3.10", {"python": "3.10"}),
    ],
)
def test_what_a_list_states(line: str, expected: dict[str, str]) -> None:
    assert stated(line) == expected
