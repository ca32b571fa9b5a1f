"""GD742 cuda-visible-devices-set-too-late."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.read.texts import read_text
from tests.builders import machine
from tests.diagnose.rules.asking import findings_of

RULE = "cuda-visible-devices-set-too-late"
SETS = "os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
SEES = "torch.__version__: 2.4.1\n"


def found(text: str, matrix: Matrix) -> list[str]:
    """Where the program in a text is said to set the variable too late."""
    snapshot = read_text((SEES + text).encode(), "train.py", matrix, "2026-11-22T00:00:00Z")
    return [finding.evidence[0].value for finding in findings_of(RULE, snapshot)]


@pytest.mark.parametrize(
    "use",
    ["print(torch.cuda.is_available())", "gpus = tf.config.list_physical_devices('GPU')", "jax.devices()", "n = torch.cuda.device_count()"],
)
def test_a_use_of_cuda_before_the_assignment_is_named(use: str, matrix: Matrix) -> None:
    (value,) = found(f"import os\n{use}\n{SETS}", matrix)
    assert value.endswith(f"after {use} (line 3)")


@pytest.mark.parametrize(
    "program",
    [
        f"import os\n{SETS}print(torch.cuda.is_available())\n",
        f"import torch\n{SETS}model.cuda()\n",  # CUDA starts at the first use
        "print(torch.cuda.is_available())\nprint(os.environ['CUDA_VISIBLE_DEVICES'])\n",
    ],
)
def test_a_program_that_sets_it_in_time_or_only_reads_it_is_in_order(program: str, matrix: Matrix) -> None:
    assert found(program, matrix) == []


def test_a_live_machine_has_no_such_finding() -> None:
    assert findings_of(RULE, machine()) == []
