from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import FoundBy, Place
from tests.diagnose.rules.examined import SITE, environment, only, outcome, use
from tests.plan.samples import checked


def test_the_environments_own_package_is_nearer_than_a_toolkit() -> None:
    name = "libcusolver.so.11"
    places = (Place(f"/usr/local/cuda/lib64/{name}", "toolkit"), Place(f"{SITE}/nvidia/cusolver/lib/{name}", "wheel", FoundBy.WHEEL))
    snapshot = environment(use("cusolver", name, elsewhere=places))
    assert f"{SITE}/nvidia/cusolver/lib" in only(snapshot, "pip-nvidia-libs-not-on-path").message
    assert outcome(snapshot, "cuda-libs-not-on-loader-path") is OutcomeKind.PASSED


CUDNN, OTHERS = {"nvidia-cudnn-cu12"}, {f"nvidia-{name}-cu12" for name in ("cublas", "cufft", "cusolver", "cusparse")}


@pytest.mark.parametrize(
    ("stated", "lost"),
    [
        ({}, CUDNN | OTHERS),
        ({"system_cuda": "12.3"}, CUDNN),
        ({"system_cuda": "12.3", "system_cudnn": "8.9"}, set()),
        ({"system_cuda": "12.3", "system_cudnn": "9.3"}, CUDNN),
        ({"system_cuda": "11.8", "system_cudnn": "8.9"}, OTHERS),
    ],
)
def test_a_planned_package_that_is_not_found_does_no_harm_beside_the_systems_library(stated: dict[str, str], lost: set[str]) -> None:
    found = checked("tensorflow[and-cuda]==2.16.1", gpus=("A100",), driver="580.65.06", python="3.12", **stated).findings
    named = [finding.evidence[0].value for finding in found if finding.name == "pip-nvidia-libs-not-on-path"]
    assert [set(value.split()) for value in named] == [lost] * bool(lost)
