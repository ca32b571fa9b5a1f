"""What a Python prompt answers on the next line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import lines_of
from gpudoctor.read.stating import statements_in
from tests.read.mangled import mangled
from tests.read.reading import is_read_or_refused

PROMPT = """\
>>> import torch
>>> torch.__version__
'2.6.0+cu124'
>>> torch.version.cuda
'12.4'
>>> torch.cuda.is_available()
False
>>> torch.cuda.get_device_name(0)
'NVIDIA GeForce RTX 4060'
"""
NOTEBOOK = "In [1]: import tensorflow as tf; print(tf.__version__)\n2.17.0\nIn [2]: tf.test.is_built_with_cuda()\nOut[2]: True\n"
SHELL = '$ python -c "import jax; print(jax.__version__)"\n0.5.3\n'


def stated(text: str) -> dict[str, str]:
    return {one.what: one.value for one in statements_in(lines_of(text.encode(), "pasted.txt"))}


def test_each_answer_belongs_to_the_line_above() -> None:
    found = stated(PROMPT)
    assert found["package:torch"] == "2.6.0+cu124"
    assert (found["torch cuda"], found["cuda available"], found["gpu:0"]) == ("12.4", "False", "NVIDIA GeForce RTX 4060")


def test_notebooks_and_single_commands_are_read() -> None:
    assert stated(NOTEBOOK)["package:tensorflow"] == "2.17.0"
    assert stated(NOTEBOOK)["tensorflow cuda"] == "True"
    assert stated(SHELL)["package:jax"] == "0.5.3"


@pytest.mark.parametrize(
    "words", ["torch.cuda.is_available(): False", "torch.cuda.is_available() returns False", "torch.cuda.is_available() -> False"]
)
def test_an_answer_on_the_same_line_is_read(words: str) -> None:
    assert stated(words)["cuda available"] == "False"


@pytest.mark.parametrize(
    "text",
    [
        "torch.__version__\nTraceback (most recent call last):\n",
        "torch.cuda.is_available()\nit should be True\n",
        "assert torch.cuda.is_available(), 'False'\n",
    ],
)
def test_what_is_no_answer_states_nothing(text: str) -> None:
    assert stated(text) == {}


@given(data=st.data())
def test_any_part_in_any_order_is_read(data: st.DataObject, matrix: Matrix) -> None:
    assert is_read_or_refused(data.draw(mangled(PROMPT + NOTEBOOK + SHELL)), matrix)
