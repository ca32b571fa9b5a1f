"""What the commands that people show state."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from tests.read.reading import read

ERROR = "Loaded runtime CuDNN library: 8.2.1 but source was compiled with: 8.6.0.\n"


@pytest.mark.parametrize(
    ("commands", "cuda"),
    [
        ("$ module load cuda/11.8\n", "11.8"),
        ("$ module load gcc/11.3.0 cuda/12.2 cudnn/8.9.7\n", "12.2"),
        ("$ ml CUDA/12.1.1\n", "12.1"),
        ("module purge; module load cuda-toolkit/11.7.0\n", "11.7"),
        ("$ module load cuda\n", None),
        ("$ module avail cuda/12.2\n", None),
        ("$ module load pytorch/2.1-cuda12.1\n", None),
    ],
)
def test_a_loaded_module_states_its_cuda(commands: str, cuda: str | None, matrix: Matrix) -> None:
    toolkits = read(ERROR + commands, matrix).toolkits
    found = toolkits if isinstance(toolkits, tuple) else ()
    assert [getattr(toolkit.toolkit_cuda, "value", None) for toolkit in found] == ([cuda] if cuda else [])


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("cc -O2 -I/opt/conda/include/python3.11 a.c\n", "3.11"),
        ('File "/usr/lib/python3.10/threading.py", line 1016, in run\n', "3.10"),
        ('File "/srv/train.py", line 8\n', None),
    ],
)
def test_paths_state_python(text: str, version: str | None, matrix: Matrix) -> None:
    python = read(ERROR + text, matrix).python
    assert getattr(python, "version", None) == version
