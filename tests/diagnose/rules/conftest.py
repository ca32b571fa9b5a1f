"""Compares what the rules say in each of their tests with what they said when somebody last read it."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest

import gpudoctor.diagnose
from gpudoctor.findings import Diagnosis
from tests.diagnose.rules import said

_new: defaultdict[str, dict[tuple[str, str], str]] = defaultdict(dict)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    diagnoses: list[Diagnosis] = []
    diagnosis = gpudoctor.diagnose.diagnosis_in_steps

    @functools.wraps(diagnosis)
    def collected(*arguments: Any) -> Diagnosis:
        diagnoses.append(diagnosis(*arguments))
        return diagnoses[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpudoctor.diagnose, "diagnosis_in_steps", collected)
        result = yield
    family, module = pyfuncitem.module.__name__.rsplit(".", 2)[-2:]
    name = pyfuncitem.nodeid.partition("::")[2]
    told = said.text(pyfuncitem.module.__name__, diagnoses)
    if said.RECORDING:
        _new[family][module, name] = told
    elif known := said.kept(family).get(module):
        assert told == known.get(name, ""), "if the new words are the better ones: scripts/record_rules tests"
    return result


def pytest_sessionfinish(exitstatus: int) -> None:
    for family, texts in _new.items() if exitstatus == pytest.ExitCode.OK else ():
        said.keep(family, texts)
