"""Environment dumps and package lists through the real tables and rules: versions alone lead to the cause, and healthy dumps to none."""

from __future__ import annotations

import importlib
import pkgutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from tests.read import dumps
from tests.read.mangled import mangled
from tests.read.reading import causes, is_read_or_refused

_MODULES = {
    module_info.name: importlib.import_module(f"{dumps.__name__}.{module_info.name}")
    for module_info in pkgutil.iter_modules(dumps.__path__)
}
_CASES = [
    pytest.param(cause, text, id=f"{name}-{number}-{cause}")
    for name, module in _MODULES.items()
    for number, (cause, text) in enumerate(module.CASES)
]
_HEALTHY = [pytest.param(text, id=f"{name}-{number}") for name, module in _MODULES.items() for number, text in enumerate(module.HEALTHY)]


@pytest.mark.parametrize(("cause", "text"), _CASES)
def test_versions_alone_show_the_cause(cause: str, text: str, matrix: Matrix) -> None:
    assert causes(text, matrix)[:1] == [cause]


@pytest.mark.parametrize("text", _HEALTHY)
def test_a_healthy_dump_has_no_cause(text: str, matrix: Matrix) -> None:
    assert causes(text, matrix) == []


@pytest.mark.parametrize("name", _MODULES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_mangled_dump_is_read_or_refused(name: str, data: st.DataObject, matrix: Matrix) -> None:
    module = _MODULES[name]
    text = data.draw(st.sampled_from([*module.HEALTHY, *(text for _, text in module.CASES)]))
    assert is_read_or_refused(data.draw(mangled(text)), matrix)


def test_torchvisions_pin_to_its_own_build_is_met_by_the_default_build_and_by_no_other(matrix: Matrix) -> None:
    text = (
        "sys.platform: linux\nPython: 3.8.13\nCUDA available: True\nGPU 0: NVIDIA GeForce RTX 2080\nPyTorch: 1.10.0\nTorchVision: 0.11.0\n"
    )
    assert causes(text, matrix) == []
    assert causes(text.replace("1.10.0", "1.10.0+cu113"), matrix) == ["torch-torchvision-mismatch"]
