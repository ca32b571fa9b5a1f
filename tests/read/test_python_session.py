"""Questions to Python and the answers on the lines after them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.read.hits import hits_in
from gpudoctor.read.lines import lines_of
from gpudoctor.read.statement_search import statements_in
from tests.read.mangled import mangled
from tests.read.reading import causes, is_read_or_refused

REPL = """\
>>> import torch
>>> import torchvision
>>> print(torch.__version__)
1.2.0
>>> print(torchvision.__version__)
0.4.0
>>> torch.cuda.is_available()
False
>>> print(torch.version.cuda)
10.0.130
>>> exit()
Driver Version: 390.116
"""
ONE_LINE = """\
$ python -c "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available())"
2.3.1+cpu None False
GPU 0: NVIDIA L4
"""
SCRIPT = """\
```python
import torch
print(torch.__version__)
print(torch.version.cuda)
print(torch.cuda.is_available())
print(torch.cuda.get_device_name(0))
```
Output:
```
2.5.0+cu121
12.1
True
NVIDIA GeForce RTX 5090
```
"""
TENSORFLOW = """\
>>> import tensorflow as tf
2024-05-01 10:11:12.345678: I tensorflow/core/util/port.cc:113] oneDNN custom operations are on.
>>> tf.__version__
'2.14.0'
>>> tf.test.is_built_with_cuda()
False
>>> tf.config.list_physical_devices('GPU')
[]
"""
NIGHTLY = """\
>>> torch.__version__
'2.7.0.dev20250310+cu124'
>>> torch.cuda.get_arch_list()
['sm_50', 'sm_60', 'sm_70', 'sm_75', 'sm_80', 'sm_86', 'sm_90']
>>> torch.cuda.get_device_name(0)
'NVIDIA GeForce RTX 5080'
"""
HEALTHY = """\
>>> torch.__version__
'2.4.1+cu124'
>>> torch.cuda.is_available()
True
>>> torch.version.cuda
'12.4'
>>> torch.cuda.get_device_name(0)
'NVIDIA GeForce RTX 4080'
"""
CODE = """\
assert torch.cuda.is_available(), "CUDA is not available"
device = "cuda" if torch.cuda.is_available() else "cpu"
False positives happen here
if torch.__version__ < "1.13.0":
2.0 is the limit
"""


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        ("driver-too-old", REPL),
        ("cpu-only-build", ONE_LINE),
        ("gpu-too-new-for-build", SCRIPT),
        ("cpu-only-build", TENSORFLOW),
        ("gpu-too-new-for-build", NIGHTLY),
    ],
)
def test_the_answers_show_the_cause(cause: str, text: str, matrix: Matrix) -> None:
    assert causes(text, matrix)[:1] == [cause]


def test_good_answers_show_none(matrix: Matrix) -> None:
    assert causes(HEALTHY, matrix) == []


def test_code_without_its_output_states_nothing() -> None:
    lines = lines_of(CODE.encode(), "code")
    assert [statement for statement in statements_in(lines, hits_in(lines)) if statement.reader == "Python session"] == []


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_mangled_session_is_read_or_refused(data: st.DataObject, matrix: Matrix) -> None:
    text = data.draw(st.sampled_from([REPL, ONE_LINE, SCRIPT, TENSORFLOW, NIGHTLY, CODE]))
    assert is_read_or_refused(data.draw(mangled(text)), matrix)


@pytest.mark.parametrize("says", [" -> ", ": ", " is ", " returns ", "  # ", " = ", " prints `"])
@pytest.mark.parametrize(
    ("asked", "answer", "what"),
    [
        ("torch.cuda.is_available()", "False", "torch devices"),
        ("torch.__version__", "2.3.1+cpu", "version:torch"),
        ("torch.version.cuda", "None", "torch cuda"),
        ("len(tf.config.list_physical_devices('GPU'))", "0", "tensorflow devices"),
        ("torch.cuda.device_count()", "2", "torch count"),
    ],
)
def test_an_answer_may_stand_behind_its_question(asked: str, answer: str, what: str, says: str) -> None:
    for text in (f"{asked}{says}{answer}", f"print({asked}){says}{answer}", f"numpy 1.26.4, {asked}{says}{answer}, and it fails"):
        assert _stated(text).get(what) == answer, text


@pytest.mark.parametrize(
    "text",
    [
        "In [1]: os.environ[\"CUDA_VISIBLE_DEVICES\"]\nOut[1]: '-1'",
        ">>> os.environ.get('CUDA_VISIBLE_DEVICES')\n'-1'",
        'print(os.getenv("CUDA_VISIBLE_DEVICES")) -> -1',
    ],
)
def test_a_variable_is_answered_too(text: str) -> None:
    assert _stated(text).get("variable:CUDA_VISIBLE_DEVICES") == "-1"


def test_an_assignment_is_no_question() -> None:
    assert "variable:CUDA_VISIBLE_DEVICES" not in _stated('os.environ["CUDA_VISIBLE_DEVICES"] = gpus\n2')


def _stated(text: str) -> dict[str, str]:
    lines = lines_of(text.encode(), "session")
    return {statement.what: statement.value for statement in statements_in(lines, hits_in(lines)) if statement.reader == "Python session"}


_ASK = 'python -c "import torch; print(torch.cuda.is_available())"'


@pytest.mark.parametrize(("prompt", "launch"), [("", "srun "), ("me@login2:~> ", "srun -p short ")])
def test_the_answer_of_a_node_counts_more_than_that_of_the_shell(prompt: str, launch: str, matrix: Matrix) -> None:
    assert causes(f"{prompt}{_ASK}\nTrue\n{prompt}{launch}{_ASK}\nFalse\n", matrix)[:1] == ["scheduler-gpu-not-allocated"]


def _answers(text: str) -> list[tuple[str, str]]:
    lines = lines_of(text.encode(), "text")
    return [(statement.what, statement.value) for statement in statements_in(lines, hits_in(lines)) if statement.reader == "Python session"]


@pytest.mark.parametrize("text", ["I get {} with {}", "and got a {} from `{}`", "it still shows {} when I run {}", "print shows {} for {}"])
def test_an_answer_may_stand_before_its_question(text: str) -> None:
    for answer in ("True", "False"):
        assert _answers(text.format(answer, "torch.cuda.is_available()")) == [("torch devices", answer)]


@pytest.mark.parametrize("text", ["I should get {} with {}", "I cannot get {} from {}", "how to get {} from {}", "I expect {} from {}"])
def test_an_answer_that_is_only_wanted_is_none(text: str) -> None:
    assert _answers(text.format("True", "torch.cuda.is_available()")) == []
