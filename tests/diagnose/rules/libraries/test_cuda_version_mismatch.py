from __future__ import annotations

import pytest

from gpudoctor.findings import Severity
from gpudoctor.snapshot import Fact, Host, Platform, Toolkit
from tests.diagnose.rules.planned import OLD, REQUIRES, ROW, SERIES, SONAMES, UNSTATED, judge, on_system, only, outcome, stated, supposed
from tests.matrix.samples import matrix


@pytest.mark.parametrize(
    ("release", "system", "lacks"),
    [
        ("2.3.0", "10.1", ""),
        ("2.3.0", "11.0", "libcudart.so.10.1"),
        ("2.4.0", "11.0", ""),
        ("2.4.0", "11.8", "libcusolver.so.10"),
        ("2.3.0", "99.0", "CUDA 10.1"),
        ("2.4.0", "11.9", ""),
    ],
    ids=["same", "another major", "same again", "same runtime, another cuSOLVER", "not in the tables", "same major, not in the tables"],
)
def test_the_systems_cuda_is_compared_by_the_names_of_its_files(release: str, system: str, lacks: str) -> None:
    found = on_system(release, system)
    if lacks:
        assert lacks in only(found, "cuda-version-mismatch").message
    else:
        assert not [finding for finding in found.findings if finding.name == "cuda-version-mismatch"]


def test_a_release_for_the_cuda_that_is_there_is_offered() -> None:
    found = only(on_system("2.3.0", "11.0"), "cuda-version-mismatch")
    assert found.fixes[1].command == "python3.8 -m pip install tensorflow==2.4.0"


def test_a_cuda_that_was_not_stated_is_no_fault() -> None:
    assert outcome(on_system("2.3.0", "11.0", toolkits=UNSTATED), "GD405") == "not-asked"


def test_one_fitting_toolkit_of_two_is_enough() -> None:
    two = tuple(Toolkit(path=f"/usr/local/cuda-{one}", toolkit_cuda=Fact(one, "version.json")) for one in ("11.8", "10.1"))
    assert outcome(on_system("2.3.0", "", toolkits=two), "GD405") == "passed"


def test_of_two_toolkits_that_do_not_fit_the_first_is_compared() -> None:
    two = tuple(Toolkit(path=f"/usr/local/cuda-{one}", toolkit_cuda=Fact(one, "version.json")) for one in ("11.0", "11.8"))
    found = only(on_system("2.3.0", "", toolkits=two), "cuda-version-mismatch")
    assert found.message.endswith("but the system has CUDA 11.0 and 11.8, which lacks libcudart.so.10.1.")
    assert [(evidence.value, evidence.where) for evidence in found.evidence if evidence.what == "CUDA version of the system"] == [
        ("11.0", "/usr/local/cuda-11.0"),
        ("11.8", "/usr/local/cuda-11.8"),
    ]
    assert found.fixes[1].command.endswith("tensorflow==2.4.0")


def test_a_framework_with_its_own_runtime_does_not_ask_the_system() -> None:
    toolkits = (Toolkit(path="", toolkit_cuda=Fact("11.8", "--system-cuda")),)
    snapshot = supposed(
        stated("tensorflow", "2.18.0"), stated("nvidia-cuda-runtime-cu12", "12.5.82"), stated("cupy-cuda11x", "13.6.0"), toolkits=toolkits
    )
    assert outcome(judge(snapshot, matrix(**SERIES)), "GD405") == "passed"


def test_a_runtime_that_an_installer_would_bring_counts() -> None:
    row = ROW.replace(REQUIRES, 'nvidia-cuda-runtime-cu12>=12.5;extra==""and-cuda""'.join('""'))
    toolkits = (Toolkit(path="", toolkit_cuda=Fact("11.8", "--system-cuda")),)
    tables = matrix(tensorflow=row, cuda=SONAMES)
    assert outcome(judge(supposed(stated("tensorflow", "2.18.0", "and-cuda"), toolkits=toolkits), tables), "GD405") == "passed"
    alone = judge(supposed(stated("tensorflow", "2.18.0"), toolkits=toolkits), tables)
    assert only(alone, "cuda-version-mismatch").fixes[0].command == "python3.11 -m pip install 'tensorflow[and-cuda]==2.18.0'"


def test_under_windows_no_names_of_linux_are_said() -> None:
    tables = matrix(tensorflow=OLD.replace("linux_x86_64", "win_amd64"), cuda=SONAMES)
    toolkits = (Toolkit(path="", toolkit_cuda=Fact("11.0", "--system-cuda")),)
    windows = Host(platform=Platform.WINDOWS, architecture="x86_64")
    snapshot = supposed(stated("tensorflow", "2.3.0"), python="3.8", toolkits=toolkits, host=windows)
    assert only(judge(snapshot, tables), "cuda-version-mismatch").message.endswith("but the system has CUDA 11.0.")


@pytest.mark.parametrize(
    ("wheel", "system", "fits"),
    [
        ("cupy-cuda11x", "12.4", False),
        ("cupy-cuda11x", "11.8", True),
        ("cupy-cuda12x", "12.4", True),
        ("cupy-cuda102", "10.1", False),
        ("cupy-cuda101", "10.1", True),
        ("cupy", "12.4", True),
    ],
)
def test_cupys_wheel_is_compared_by_its_name(wheel: str, system: str, fits: bool) -> None:
    toolkits = (Toolkit(path="", toolkit_cuda=Fact(system, "--system-cuda")),)
    found = judge(supposed(stated(wheel, "13.6.0"), toolkits=toolkits), matrix(cuda=SONAMES))
    assert ([cause.name for cause in found.root_causes if cause.severity is Severity.ERROR] == ["cuda-version-mismatch"]) is not fits
