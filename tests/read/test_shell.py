"""Environment variables, as shells, Python, Dockerfiles, compose files, pods and `docker run` show them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.read.readers.shell import READER
from gpudoctor.read.statements import Line
from tests.read.mangled import mangled

TEXTS = (
    ("CUDA_VISIBLE_DEVICES=2,3\n", {"CUDA_VISIBLE_DEVICES": "2,3"}),
    ("al@ws:~$ export NCCL_P2P_DISABLE=1\n", {"NCCL_P2P_DISABLE": "1"}),
    ("$ CUDA_VISIBLE_DEVICES=1 NCCL_DEBUG=INFO python train.py\n", {"CUDA_VISIBLE_DEVICES": "1", "NCCL_DEBUG": "INFO"}),
    ("(env) ~/src$ CUDA_VISIBLE_DEVICES=4 python train.py\n", {"CUDA_VISIBLE_DEVICES": "4"}),
    ('export CUDA_VISIBLE_DEVICES=""\n', {"CUDA_VISIBLE_DEVICES": ""}),
    ("export LD_LIBRARY_PATH='/opt/cuda 12/lib64'\n", {"LD_LIBRARY_PATH": "/opt/cuda 12/lib64"}),
    ('declare -x CUDA_HOME="/usr/local/cuda-12.4"\n', {"CUDA_HOME": "/usr/local/cuda-12.4"}),
    ("C:\\> set CUDA_PATH=C:\\CUDA\\v12.1\n", {"CUDA_PATH": "C:\\CUDA\\v12.1"}),
    ('$env:CUDA_VISIBLE_DEVICES = "0"\n', {"CUDA_VISIBLE_DEVICES": "0"}),
    ('os.environ["CUDA_VISIBLE_DEVICES"] = "-1"\n', {"CUDA_VISIBLE_DEVICES": "-1"}),
    ("    os.environ.setdefault('JAX_PLATFORMS', 'cpu')\n", {"JAX_PLATFORMS": "cpu"}),
    ("%env XLA_PYTHON_CLIENT_PREALLOCATE=false\n", {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}),
    ("ENV NVIDIA_VISIBLE_DEVICES all\nENV NVIDIA_DRIVER_CAPABILITIES=utility\n", {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility"}),
    ("docker run --rm -e NVIDIA_VISIBLE_DEVICES=none -e CUDA_LAUNCH_BLOCKING=1 img\n", {"NVIDIA_VISIBLE_DEVICES": "none", "CUDA_LAUNCH_BLOCKING": "1"}),
    ("    environment:\n      - NVIDIA_VISIBLE_DEVICES=void\n      NVIDIA_DRIVER_CAPABILITIES: compute\n", {"NVIDIA_VISIBLE_DEVICES": "void", "NVIDIA_DRIVER_CAPABILITIES": "compute"}),
    ('env:\n- name: CUDA_VISIBLE_DEVICES\n  value: "4"\n', {"CUDA_VISIBLE_DEVICES": "4"}),
    ("`NCCL_DEBUG=INFO`\n`CUDA_VISIBLE_DEVICES=7` is what the launcher exports.\n", {"NCCL_DEBUG": "INFO", "CUDA_VISIBLE_DEVICES": "7"}),
    ("It fails on both nodes. The job script has `export CUDA_VISIBLE_DEVICES=6`. You can ask for its log.\n", {"CUDA_VISIBLE_DEVICES": "6"}),
    ("My .bashrc still has `export CUDA_VISIBLE_DEVICES=5`.\n", {"CUDA_VISIBLE_DEVICES": "5"}),
    ("Since I added `export CUDA_VISIBLE_DEVICES=3` to my .bashrc (a colleague told me to), it fails.\n", {"CUDA_VISIBLE_DEVICES": "3"}),
    ("$ echo $LD_LIBRARY_PATH\n/opt/conda/lib:/usr/local/cuda/lib64\n", {"LD_LIBRARY_PATH": "/opt/conda/lib:/usr/local/cuda/lib64"}),
)  # fmt: skip
SILENT = (
    "I added `export CUDA_VISIBLE_DEVICES=3` to my .bashrc and it works again.\n",
    "It works after export CUDA_VISIBLE_DEVICES=0 in the shell.\n",
    "Works with `CUDA_VISIBLE_DEVICES=0`.\n",
    "It crashes on the CPU too (e.g. `JAX_PLATFORMS=cpu`).\n",
    "It crashes even with `JAX_PLATFORMS=cpu`\n",
    "You could add export LD_LIBRARY_PATH=/usr/lib/wsl/lib to .bashrc.\n",
    "It helps to set CUDA_VISIBLE_DEVICES=0 before.\n",
    "CUDA_VISIBLE_DEVICES is not set\n",
    "CUDA_HOME: None\n",
    "unset CUDA_VISIBLE_DEVICES\n",
    "AWS_SECRET_ACCESS_KEY=abc\nNVIDIA_API_KEY=nvapi-1\n",
    "echo $CUDA_VISIBLE_DEVICES\n\n",
)


def stated(text: str) -> dict[str, str]:
    assert READER.blocks
    found: dict[str, str] = {}
    for block in READER.blocks([Line(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]):
        found.setdefault(block.what.removeprefix("variable:"), block.value)
    return found


@pytest.mark.parametrize(("text", "values"), TEXTS)
def test_variables_are_read_wherever_they_are_set(text: str, values: dict[str, str]) -> None:
    assert stated(text) == values


@pytest.mark.parametrize("text", SILENT)
def test_advice_and_unknown_names_state_no_variable(text: str) -> None:
    assert stated(text) == {}


@given(data=st.data())
def test_any_part_in_any_order_is_read(data: st.DataObject) -> None:
    stated(data.draw(mangled("".join(text for text, _ in TEXTS))))
