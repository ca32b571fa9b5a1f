from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Distribution, Fact, Packages, Toolkit
from tests.builders import machine
from tests.diagnose.rules.packaged import UNSTATED, outcome


def toolkit(version: str) -> tuple[Toolkit, ...]:
    return (Toolkit(path="/usr/local/cuda", toolkit_cuda=Fact(version, "version.json")),)


CUPY = Distribution("cupy-cuda12x", "13.6.0", "/site")


@pytest.mark.parametrize(
    ("packages", "toolkits", "kind"),
    [
        ((CUPY,), toolkit("12.4"), OutcomeKind.PASSED),
        ((CUPY,), toolkit("11.8"), OutcomeKind.FOUND),
        ((CUPY,), (*toolkit("11.8"), *toolkit("12.4")), OutcomeKind.PASSED),
        ((CUPY,), (), OutcomeKind.PASSED),
        ((CUPY,), UNSTATED, OutcomeKind.PASSED),
        ((CUPY, Distribution("nvidia-cuda-runtime-cu12", "12.4.127", "/site")), toolkit("11.8"), OutcomeKind.PASSED),
        ((Distribution("cupy", "13.6.0", "/site"),), toolkit("11.8"), OutcomeKind.PASSED),
        ((CUPY, Distribution("cupy-cuda11x", "13.6.0", "/site")), (), OutcomeKind.FOUND),
        ((Distribution("cupy-cuda92", "8.0.0", "/site"),), toolkit("9.2"), OutcomeKind.PASSED),
        ((Distribution("cupy-cuda80", "7.8.0", "/site"),), toolkit("9.0"), OutcomeKind.FOUND),
        ((Distribution("cupy-cuda102", "9.6.0", "/site"),), toolkit("10.2"), OutcomeKind.PASSED),
        ((), (), OutcomeKind.NOT_APPLICABLE),
    ],
)
def test_cupy_is_held_against_the_cuda_that_is_there(packages: tuple[Distribution, ...], toolkits: Any, kind: OutcomeKind) -> None:
    live = machine(1, packages=Packages(packages), toolkits=toolkits)
    assert outcome(live, "cupy-wheel-cuda-mismatch") is kind
