"""The exit code of `gpudoctor fit`."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gpudoctor.fit.answer import Answer, fit_answer
from gpudoctor.fit.card import Card
from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.presets import model_of_name
from gpudoctor.fit.run_options import Asked
from gpudoctor.report.fit import exit_code_of_answers

COUNTED, ASKED = model_of_name("resnet50", SampleSize()), Asked(batch=8)
CARD = Card(name="GPU", available=8 << 30, total=9 << 30, observed=True, capability=(8, 0), flops={}, measured=False, bandwidth=None)
ONE = fit_answer(COUNTED, ASKED, CARD)
YES, NO, UNKNOWN = (replace(ONE, fits=fits) for fits in (True, False, None))


@pytest.mark.parametrize(
    ("answers", "stated", "of_machine"),
    [
        ((YES,), 0, 0),
        ((NO,), 1, 1),
        ((UNKNOWN,), 3, 3),
        ((YES, NO), 1, 0),
        ((YES, UNKNOWN), 3, 0),
        ((NO, UNKNOWN), 1, 3),
        ((), 3, 3),
    ],
)
def test_a_stated_gpu_must_fit_and_one_of_the_machine_is_enough(answers: tuple[Answer, ...], stated: int, of_machine: int) -> None:
    assert exit_code_of_answers(answers, stated=True) == stated
    assert exit_code_of_answers(answers, stated=False) == of_machine
