"""The extras that a plan asks for by itself, and how little of the tables a search checks."""

from __future__ import annotations

import pytest

from gpudoctor.derive.specifiers import Requirement
from gpudoctor.matrix.tables import OTHER_RELEASES
from gpudoctor.plan import extras
from gpudoctor.plan.candidates import candidates
from gpudoctor.plan.proposal import proposed_plan
from tests.plan.planned import MATRIX, asked, pins, planned
from tests.seams.every import every

OLD, NEW = "535.104.05", "580.65.06"


@pytest.mark.parametrize(
    ("gpu", "driver", "wanted", "pin"),
    [
        ("H100", NEW, "onnxruntime-gpu<=1.31.1", "onnxruntime-gpu[cuda,cudnn]==1.31.1"),
        ("T4", OLD, "onnxruntime-gpu<=1.31.1", "onnxruntime-gpu[cuda,cudnn]==1.26.0"),
        ("T4", OLD, "onnxruntime-gpu[cuda]<=1.31.1", "onnxruntime-gpu[cuda]==1.26.0"),
        ("none", "", "onnxruntime-gpu<=1.31.1", "onnxruntime-gpu==1.31.1"),
        ("T4", OLD, "cupy-cuda12x<=14.2.0", "cupy-cuda12x[ctk]==14.2.0"),
        ("T4", OLD, "sglang<0.5.2", "sglang[srt]==0.5.1.post2"),
        ("H100", NEW, "sglang<=0.5.23", "sglang==0.5.23"),
    ],
)
def test_a_plan_asks_for_the_extras_without_which_a_package_does_not_compute(gpu: str, driver: str, wanted: str, pin: str) -> None:
    assert pins(planned(gpu, driver, wanted))[0] == pin


@every("name", sorted({row.distribution for row in MATRIX.rows(OTHER_RELEASES)}))
def test_each_release_has_the_extras_that_a_plan_asks_for(name: str) -> None:
    rows = {str(row.release): row for row in MATRIX.releases(name, "linux_x86_64")}
    for candidate in candidates(MATRIX, Requirement(name, name, (), "", ""), "linux_x86_64", gpu=True):
        assert all(any(f'extra=="{extra}"' in text for text in rows[candidate.release].requires) for extra in candidate.extras)


def test_an_extra_reaches_those_that_it_includes() -> None:
    row = next(row for row in MATRIX.rows(OTHER_RELEASES, "sglang") if str(row.release) == "0.5.2")
    assert {"all", "srt", "runtime-common"} <= {*extras.with_included_extras(row, ("all",))}


@pytest.mark.parametrize("gpu", ["GTX 1080", "T4", "L4", "RTX 5090"])
@pytest.mark.parametrize("wanted", ["sglang", "vllm", "transformer-engine[pytorch] torch", "jax[cuda12] numpy<2", "deepspeed torch"])
def test_a_search_checks_few_sets(gpu: str, wanted: str) -> None:
    driver = "570.124.06" if gpu == "RTX 5090" else OLD
    search = proposed_plan(asked(gpu, driver, *wanted.split()), MATRIX).search
    assert search.checked_sets < 120
