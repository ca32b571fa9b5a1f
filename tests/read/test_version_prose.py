"""Versions in sentences fill gaps, and a sentence that compares or requires states nothing."""

from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import lines_of
from gpudoctor.read.readers import version_prose
from gpudoctor.read.texts import read_text
from gpudoctor.snapshot import Fact

HELP = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


def stated(text: str) -> dict[str, str]:
    assert version_prose.READER.blocks
    return {block.what: block.value for block in version_prose.READER.blocks(lines_of(text.encode(), "pasted.txt"))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am on Debian 12 with torch 2.5.1+cu124.", {"version:torch": "2.5.1+cu124"}),
        ("We use PyTorch v2.3.0 and jax 0.4.30 on our server", {"version:torch": "2.3.0", "version:jax": "0.4.30"}),
        ("my driver 535.104.05, tensorflow-gpu 2.10.1", {"driver": "535.104.05", "version:tensorflow-gpu": "2.10.1"}),
        ("I have torch 2.5.1. With torch 2.5.1 it hangs.", {"version:torch": "2.5.1"}),
        ("I have torch 2.5.1 here.\nI have torch 2.6.0 there.", {}),
        ("I upgraded from torch 2.5.1 and now it crashes", {}),
        ("flash-attn requires torch 2.5.1 on my machine", {}),
        ("I ran pip install torch==2.5.1", {"version:torch": "2.5.1"}),
        ("A venv, `pip install torch==2.5.1`, Python 3.11", {"version:torch": "2.5.1"}),
        ("I used pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/cpu", {"version:torch": "2.5.1+cpu"}),
        ("!pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/cu124", {"version:torch": "2.5.1+cu124"}),
        ("You should use `pip install torch==2.5.1` instead", {}),
        ("Does `pip install torch==2.5.1` help?", {}),
        ("on my machine: torch>=2.5.1", {}),
        ("asked for torch in a script, and its version shows 2.4.1+cpu", {"version:torch": "2.4.1+cpu"}),
        ("installed torch and got `2.9.1+cu128`", {"version:torch": "2.9.1+cu128"}),
        ("torch 2.4.1 is slower than torch version: 2.5.0+cpu", {}),
        ("- pytorch 2.9*", {}),
        ("torchvision 0.20.1 is what I have", {"package:torchvision": "0.20.1"}),
        ("my file torch-2.5.1-cp311.whl", {}),
        ("the driver 5 of my car", {}),
        ("I use driver 550 here", {"driver": "550"}),
        ("the driver version is 470.", {"driver": "470"}),
        ("I have driver 550. My driver 550.54.14 was installed by apt.", {"driver": "550.54.14"}),
        ("I have driver 550. My driver 535.104.05 was installed by apt.", {}),
        ("my driver 550 MB", {}),
        ("driver 550 is required on my card", {}),
        ("It worked before the update. I use torch 2.5.1 now.", {"version:torch": "2.5.1"}),
        ("I use e.g. torch 2.5.1 now.", {}),
        ("We upgraded to torch 2.9.0+cu130 and vllm 0.12.0", {"version:torch": "2.9.0+cu130", "package:vllm": "0.12.0"}),
        ("We want to upgrade to torch 2.9.0", {}),
    ],
)
def test_what_a_sentence_states(text: str, expected: dict[str, str]) -> None:
    assert stated(text) == expected


def test_a_reader_of_a_tool_is_believed_first(matrix: Matrix) -> None:
    text = f"I have torch 2.5.1+cu124 on my machine\nPyTorch version: 2.7.1+cu128\n{HELP}"
    found = read_text(text.encode(), "pasted.txt", matrix, "2026-11-22T00:00:00Z").frameworks
    assert isinstance(found, tuple)
    assert [framework.version.value for framework in found if isinstance(framework.version, Fact)] == ["2.7.1+cu128"]


def test_the_fix_of_an_old_driver_names_the_one_that_the_build_needs(matrix: Matrix) -> None:
    text = b"torch==2.5.1+cu124\nRuntimeError: The NVIDIA driver on your system is too old (found version 11040).\n"
    (finding,) = diagnose(read_text(text, "pasted.txt", matrix, ""), matrix, Policy(level=None)).root_causes
    assert finding.name == "driver-too-old"
    assert "525.60.13 or newer" in finding.fixes[0].title


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I have torch 2.5.1 here.\nWith torch 2.6.0 it hangs.", {"version:torch": "2.6.0"}),
        ("Works with torch 2.5.1, fails with torch 2.6.0 on my GPU", {"version:torch": "2.6.0"}),
        ("The GPU is found with TF 2.10 but not with 2.11", {"version:tensorflow": "2.11"}),
        ("TensorFlow 2.10.0 sees my GPU while TensorFlow 2.15.0 does not", {"version:tensorflow": "2.15.0"}),
        ("jax 0.4.30 is fine, jax 0.5.0 crashes", {"version:jax": "0.5.0"}),
        ("It hangs with torch 2.6.0. Downgrading to torch 2.5.1 fixed it.", {"version:torch": "2.6.0"}),
        ("I am on tensorflow 2.16.1. After going back to tensorflow 2.15.1 the card is found.", {"version:tensorflow": "2.16.1"}),
        ("We upgraded from torch 2.9.0 to torch 2.9.1", {"version:torch": "2.9.1"}),
        ("I downgraded from torch 2.9.1 to torch 2.8.0 and it works", {"version:torch": "2.9.1"}),
        ("torch 2.8.0 -> 2.9.1 broke it", {"version:torch": "2.9.1"}),
        ("Everything worked with torch 2.5.1 before. Since the update to torch 2.6.0 I see no GPU.", {"version:torch": "2.6.0"}),
        ("Driver 535.183.01 works, 550.54.14 does not", {"driver": "550.54.14"}),
        ("With driver 550 all is fine, however since driver 570 it freezes", {"driver": "570"}),
        (
            "On Windows 10 it sees the GPU with TF 2.10 but not with 2.11 or 2.12",
            {"version:tensorflow": "2.11", "os": "Windows 10"},
        ),
        ("Up to TF 2.10 it is as it was, but not with TF 2.12", {"version:tensorflow": "2.12"}),
        ("I have torch 2.5.1 here, but it finds no GPU.", {"version:torch": "2.5.1"}),
        ("It works on Windows 10 but not on Ubuntu 22.04", {}),
        ("On one machine torch 2.4.0 works, and on the other one torch 2.5.0 gives False", {"version:torch": "2.5.0"}),
    ],
)
def test_of_versions_that_are_compared_the_one_that_fails_or_is_in_use_counts(text: str, expected: dict[str, str]) -> None:
    assert stated(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I tried torch 2.5.1 and torch 2.6.0",
        "Both torch 2.5.1 and torch 2.6.0 fail",
        "Does torch 2.5.1 work where torch 2.6.0 fails?",
        "torch 2.5.1 supports this card, torch 2.4.0 does not",
        "If torch 2.5.1 fails, try torch 2.6.0",
        "ERROR: No matching distribution found for torch==1.7.1 beside torch 2.6.0",
        "You should downgrade from torch 2.9.1 to torch 2.8.0",
        "TF 2.10 works, Python 3.12 does not",
    ],
)
def test_what_is_compared_without_an_outcome_states_nothing(text: str) -> None:
    assert not [one for one in stated(text) if one.startswith("version:torch") or stated(text)[one] == "3.12"]
