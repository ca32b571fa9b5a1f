from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Severity
from gpudoctor.snapshot import Host, Platform, Python
from tests.diagnose.rules.planned import CUDNN, ROW, SERIES, judge, only, outcome, stack, stated, supposed
from tests.matrix.samples import matrix


def test_a_cudnn_without_code_for_the_gpu_is_pinned_to_the_last_with() -> None:
    found = only(stack("9.12.0.46"), "cudnn-drops-gpu")
    assert found.severity is Severity.ERROR
    assert found.fixes[0].command == "python3.11 -m pip install nvidia-cudnn-cu12==9.10.2.21"


def test_a_cudnn_that_nobody_named_is_a_warning() -> None:
    found = stack("9.12.0.46", chosen=True)
    assert only(found, "cudnn-drops-gpu").severity is Severity.WARNING
    assert found.verdict.value == "degraded"


def test_a_gpu_that_cudnn_still_knows_makes_it_a_warning() -> None:
    assert only(stack("9.12.0.46", gpus=("7.0", "8.6")), "cudnn-drops-gpu").severity is Severity.WARNING


@pytest.mark.parametrize("machine", ["aarch64", "ppc64le"])
def test_a_cudnn_for_another_platform_says_nothing_of_this_one(machine: str) -> None:
    host = Host(platform=Platform.JETSON, architecture=machine)
    python = Python("python3.12", "--python-version", version="3.12", machine=machine)
    rows = ROW + ROW.replace("linux_x86_64", "linux_aarch64")
    wheel = stated("nvidia-cudnn-cu12", "9.12.0.46")
    thor = supposed(stated("tensorflow", "2.18.0", "and-cuda"), wheel, gpus=("7.0",), host=host)
    found = judge(msgspec.structs.replace(thor, python=python), matrix(tensorflow="\n".join(sorted(rows.splitlines())) + "\n", cudnn=CUDNN))
    assert outcome(found, "GD411") == "not-asked"


@pytest.mark.parametrize("cudnn", ["9.10.2.21", "9.99.0.1"], ids=["has the code", "not known"])
def test_no_finding_where_cudnn_has_code_or_is_not_known(cudnn: str) -> None:
    assert not [finding for finding in stack(cudnn).findings if finding.name == "cudnn-drops-gpu"]


def test_a_gpu_that_the_framework_lacks_too_is_not_cudnns_fault() -> None:
    found = stack("9.12.0.46", gpus=("6.1",))
    assert [cause.name for cause in found.root_causes] == ["gpu-too-old-for-build", "gpu-lacks-bf16"]


def test_a_cudnn_that_nobody_stated_is_no_fault() -> None:
    found = judge(supposed(stated("tensorflow", "2.18.0")), matrix(**SERIES))
    assert [finding.name for finding in found.findings] == ["cuda-library-missing"]
    assert {outcome(found, code) for code in ("GD409", "GD410", "GD411")} == {"not-asked"}
