"""The fields of issue forms in the ways in which trackers and people lay them out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.read.readers.field_keys import FIELD_KEYS, FIRST_WORDS, FieldKey
from gpudoctor.read.readers.fields import READER
from gpudoctor.read.statements import Line
from tests.read.mangled import mangled
from tests.read.reading import is_read_or_refused


def stated(text: str) -> dict[str, str]:
    """The first value of each key."""
    assert READER.blocks
    lines = [Line(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    found: dict[str, str] = {}
    for block in READER.blocks(lines):
        found.setdefault(block.what, block.value)
    return found


@pytest.mark.parametrize(
    ("text", "what", "value"),
    [
        ("OS: Ubuntu 22.04.4 LTS", "os", "Ubuntu 22.04.4 LTS"),
        ("- **OS**: Windows 11 23H2", "os", "Windows 11 23H2"),
        ("**Operating System:** macOS 14.5", "os", "macOS 14.5"),
        ("* OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Debian 12", "os", "Debian 12"),
        ("OS: WSL2 Ubuntu 24.04", "os", "WSL2 Ubuntu 24.04"),
        ("### OS platform and distribution\n\nLinux Ubuntu 20.04\n", "os", "Linux Ubuntu 20.04"),
        ("OS\n\nWindows 11 Pro\n", "os", "Windows 11 Pro"),
        ("TensorFlow version\n2.18.0\nPython version\n3.12\n", "package:tensorflow", "2.18.0"),
        ("| Operating system | Rocky Linux 9.4 |", "os", "Rocky Linux 9.4"),
        ("| GPU | RTX 4070 Ti |", "gpu:0", "RTX 4070 Ti"),
        ("GPU model and memory: GeForce GTX 1660 Ti, 6 GB", "gpu:0", "GeForce GTX 1660 Ti"),
        ("GPU: 4 x NVIDIA L40S", "gpu:0", "NVIDIA L40S"),
        ("GPUs: 2x A100 (80 GB)", "gpu:0", "A100"),
        ("device: NVIDIA Jetson Orin Nano", "gpu:0", "NVIDIA Jetson Orin Nano"),
        ("Graphics card = RTX 2060 SUPER", "gpu:0", "RTX 2060 SUPER"),
        ("### GPU model and memory\n```\nTesla T4 16GB\n```", "gpu:0", "Tesla T4 16GB"),
        ("CUDA/cuDNN version: 11.2 / 8.1", "toolkit", "11.2"),
        ("CUDA/cuDNN version: 11.2 / 8.1", "cudnn", "8.1"),
        ("- CUDA/cuDNN version: CUDA 10.1, cuDNN 7.6.5", "cudnn", "7.6.5"),
        ("CUDA/cuDNN version: cuda-9.0", "toolkit", "9.0"),
        ("CUDA cuDNN: CUDA 11.4/cuDNN 8.2.4.15", "cudnn", "8.2.4"),
        ("### CUDA/cuDNN version\n\n12.3 / 8.9.7\n", "toolkit", "12.3"),
        ("### CUDA/cuDNN version\n\n12.3 / 8.9.7\n", "cudnn", "8.9.7"),
        ("CUDA: 12.8.1", "toolkit", "12.8"),
        ("CUDA: Cudatoolkit 10.0.130", "toolkit", "10.0"),
        ("CUDA Version (driver): 12.2", "cuda served", "12.2"),
        ("CUDNN: 8.9.2.26", "cudnn", "8.9.2"),
        ("Nvidia driver: 551.86", "driver", "551.86"),
        ("NVIDIA GPU driver version: 560.35.03", "driver", "560.35.03"),
        ("* Driver - 535.183.01", "driver", "535.183.01"),
        ("Python version: 3.11.4", "python", "3.11.4"),
        ("### Python version\n\nPython 3.9\n", "python", "3.9"),
        ("TensorFlow version (use command below): v2.4.0-49-g85c8b2a817f 2.4.1", "package:tensorflow", "2.4.1"),
        ("### TensorFlow version\n\ntf 2.17.0\n", "package:tensorflow", "2.17.0"),
        ("PyTorch: 2.3.1+cu121", "package:torch", "2.3.1+cu121"),
        ("Kernel: 6.8.0-47-generic", "kernel", "6.8.0-47-generic"),
        ("Architecture: aarch64", "architecture", "aarch64"),
        ("JetPack: 6.1", "jetpack", "6.1"),
        ("L4T version: R35.4.1", "tegra", "35.4.1"),
        ("glibc version: 2.31", "libc", "2.31"),
    ],
)
def test_a_field_states_its_answer(text: str, what: str, value: str) -> None:
    assert stated(text).get(what) == value


@pytest.mark.parametrize(
    "text",
    [
        "It works with driver 550.54, and fails with 590.44.",
        "Driver: works with 550.54.14, fails with 590.44.01",
        "Driver: 550.54.14 works, 590.44.01 does not",
        "OS: [e.g. Windows 11, Ubuntu 22.04]",
        "device: cuda:0",
        "CUDA: 12.4 (as nvidia-smi shows)",
        "CUDA/cuDNN version: N/A",
        "GPU model and memory: _No response_",
        "### OS platform and distribution\n\n_No response_\n\n### Python version\n\nno idea",
        "The platform is good: Windows is fine",
        "gpu memory utilisation: 0.9",
        "version: 3.11",
        "cuDNN: nvidia-cudnn-cu12==8.9.4.25",
        "python: can't open file",
        "system: 16 GB RAM",
    ],
)
def test_what_answers_nothing_states_nothing(text: str) -> None:
    assert stated(text) == {}


def test_the_answer_of_the_next_heading_is_not_taken() -> None:
    assert stated("### CUDA version\n\n### GPU driver version\n\n545.23.08\n") == {"driver": "545.23.08"}


@pytest.mark.parametrize("field", FIELD_KEYS, ids=lambda field: field.what)
@given(data=st.data())
def test_every_name_of_a_field_begins_with_a_known_word(field: FieldKey, data: st.DataObject) -> None:
    name = data.draw(st.from_regex(re.compile(field.name, re.ASCII), fullmatch=True))
    assert re.split("[^a-z0-9]", name)[0] in FIRST_WORDS


FORM = """\
### TensorFlow version
2.15.0
### OS platform and distribution
WSL2 Ubuntu 22.04
**CUDA/cuDNN version**: 11.8 / 8.6
| GPU | RTX 3060 |
- Driver version: 536.23
"""


@given(data=st.data())
def test_any_part_in_any_order_is_read(data: st.DataObject, matrix: Matrix) -> None:
    assert is_read_or_refused(data.draw(mangled(FORM)), matrix)
