"""The rules on packages and platforms, over supposed environments and small tables; whole machines are recorded."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, Level, OutcomeKind, Policy, Severity
from gpudoctor.snapshot import Distribution, Python
from tests.builders import ABSENT, machine, tensorflow, torch
from tests.diagnose.rules.packaged import found, live, outcome, roots, stated, supposed
from tests.matrix.samples import matrix

NUMPY_2 = stated("numpy", "2.0.2")


@pytest.mark.parametrize(
    ("packages", "expected"),
    [
        ((stated("torch", "2.2.2"), NUMPY_2), [("numpy2-abi-mismatch", "error")]),
        ((stated("torch", "2.2.2"), stated("numpy", "1.26.4")), []),
        ((stated("torch", "2.8.0"), NUMPY_2), []),
        ((stated("tensorflow", "2.17.0", "numpy<2.0.0,>=1.26.0"), NUMPY_2), [("numpy2-abi-mismatch", "error")]),
        ((stated("tensorflow", "2.21.0", "numpy<2.1.0,>=1.26"), stated("numpy", "2.1.0")), [("package-requirement-conflict", "error")]),
        ((stated("tensorflow", "2.21.0", "protobuf<8,>=6.31.1"), stated("protobuf", "5.29.5")), [("protobuf-mismatch", "error")]),
        ((stated("tensorflow", "2.21.0", "protobuf<8,>=6.31.1"), stated("protobuf", "8.0")), [("protobuf-mismatch", "error")]),
        ((stated("tensorflow", "2.17.0", "keras<2.16,>=2.15"), stated("keras", "3.0.0")), [("keras3-mismatch", "error")]),
        ((stated("tensorflow", "2.17.0", "keras>=3.2"), stated("keras", "2.15.0")), [("keras3-mismatch", "error")]),
        ((stated("tensorflow", "2.17.0", "keras>=3.2"), stated("keras", "3.0.0")), [("package-requirement-conflict", "error")]),
        ((stated("torch", "2.8.0"), stated("torchvision", "0.22.0", "torch==2.7.0")), [("torch-torchvision-mismatch", "error")]),
        ((stated("torch", "2.8.0"), stated("torchaudio", "2.7.0", "torch==2.7.0")), [("torch-torchaudio-mismatch", "error")]),
        ((stated("torch", "2.8.0"), stated("vllm", "0.9.0", "torch==2.7.0")), [("package-requirement-conflict", "error")]),
        (
            (stated("torch", "2.8.0", "nvidia-nccl-cu12==2.27.3"), stated("nvidia-nccl-cu12", "2.21")),
            [("nvidia-wheel-version-conflict", "error")],
        ),
    ],
)
def test_unmet_requirements_have_the_more_exact_name(packages: tuple[Distribution, ...], expected: list[tuple[str, str]]) -> None:
    assert roots(supposed(*packages)) == expected


@pytest.mark.parametrize(
    ("package", "words"),
    [
        (stated("tensorflow-gpu", "2.12.0"), "tensorflow-gpu 2.12.0 is a stub"),
        (stated("tensorflow", "2.17.7"), "tensorflow 2.17.7 does not exist; releases of 2.17: 2.17.0 2.17.1"),
    ],
)
def test_what_is_not_there_cannot_be_installed(package: Distribution, words: str) -> None:
    (finding,) = found(supposed(package))
    assert finding.name == "package-not-installable"
    assert words in finding.message


@pytest.mark.parametrize("version", ["2.22.0", "2.10.0", "2.15.0", "2.17.0rc1", "3.0.0.dev20260101", "2.17.0+mine"])
def test_what_the_tables_cannot_know_is_no_fault(version: str) -> None:
    assert roots(supposed(stated("tensorflow", version))) == []


@pytest.mark.parametrize("version", ["2.8.0+cu126", "2.8.0+cpu", "2.8.0+mine", "2.2.2+cu118", "2.9.0+cu129", "1.8.0+cu101", "2.8.0+cu118"])
def test_builds_that_are_official_or_not_known_are_no_fault(version: str) -> None:
    assert "package-not-installable" not in dict(roots(supposed(stated("torch", version))))


@pytest.mark.parametrize(
    ("package", "requires", "version", "severity"),
    [
        ("protobuf", "protobuf<4,>=3.9.2", "4.25.0", Severity.ERROR),
        ("protobuf", "protobuf<5,>=3.20.3", "5.28.0", Severity.WARNING),
        ("protobuf", "protobuf>=6.31.1", "5.28.0", Severity.ERROR),
        ("keras", "keras<2.16,>=2.15", "3.1", Severity.ERROR),
        ("keras", "keras<2.16,>=2.15", "2.16", Severity.WARNING),
        ("numpy", "numpy<2", "2.0.1", Severity.ERROR),
        ("numpy", "numpy<2", "1.26.4", None),
        ("ml-dtypes", "ml-dtypes<0.5", "0.5.1", Severity.WARNING),
        ("nvidia-cublas-cu12", "nvidia-cublas-cu12==12.5.3.2;extra=='and-cuda'", "12.4.5.8", Severity.WARNING),
    ],
)
def test_what_is_only_outside_a_bound_is_milder_on_a_live_machine(
    package: str, requires: str, version: str, severity: Severity | None
) -> None:
    installed = live(Distribution("tensorflow", "2.18.0", "/site", requires=(requires,)), Distribution(package, version, "/site"))
    assert [one.severity for one in found(installed, level=Level.LOOK)] == ([severity] if severity else [])


def test_keras_2_beside_tf_keras_is_milder() -> None:
    wants = Distribution("tensorflow", "2.18.0", "/site", requires=("keras>=3.5",))
    keras, legacy = Distribution("keras", "2.15.0", "/site"), Distribution("tf-keras", "2.18.0", "/site")
    assert [one.severity for one in found(live(wants, keras), level=Level.LOOK)] == [Severity.ERROR]
    assert [one.severity for one in found(live(wants, keras, legacy), level=Level.LOOK)] == [Severity.WARNING]


ELSEWHERE = (Distribution("torch", "2.6.0", "/home/venv/lib/python3.11/site-packages"),)


@pytest.mark.parametrize(
    ("policy", "severity"),
    [
        ({"level": Level.LOOK}, Severity.NOTE),
        ({"level": Level.TRAIN}, Severity.WARNING),
        ({"level": Level.LOOK, "require": ("torch",)}, Severity.ERROR),
        ({"level": Level.TRAIN, "require": ("tensorflow",)}, Severity.WARNING),
    ],
)
def test_a_framework_in_another_environment_explains_that_none_is_here(policy: dict[str, Any], severity: Severity) -> None:
    empty = machine(1, frameworks=(), python=Python("/usr/bin/python3", "the first python3 on PATH", elsewhere=ELSEWHERE))
    findings = found(empty, **policy)
    (finding,) = (one for one in findings if one.name == "wrong-python-environment")
    assert (finding.severity, finding.confidence) == (severity, Confidence.LIKELY)
    assert finding.fixes[0].command == 'export PATH=/home/venv/bin:"$PATH"'
    if severity is not Severity.WARNING or "require" not in policy:
        assert all(one.because_of == (finding.id,) for one in findings if one.name == "framework-missing")


def test_no_other_environment_is_no_wrong_one() -> None:
    empty = machine(1, frameworks=(), python=Python("/usr/bin/python3", "named", elsewhere=()))
    assert outcome(empty, "wrong-python-environment") is OutcomeKind.PASSED
    assert outcome(machine(1, frameworks=()), "wrong-python-environment") is OutcomeKind.NOT_ASKED
    assert outcome(machine(1), "wrong-python-environment") is OutcomeKind.PASSED


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow-cpu", "2.18.0", "/site")], "they own the same files"),
        ([("tensorflow", "2.17.0", "/home/user"), ("tensorflow", "2.18.0", "/site")], "an import uses the one in /home/user/tensorflow"),
        ([("tensorflow", "2.17.0", "/site"), ("tensorflow", "2.18.0", "/site")], "they own the same files"),
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow-intel", "2.18.0", "/site")], ""),
        ([("tensorflow", "2.18.0", "/site"), ("tensorflow", "2.18.0", "/site")], ""),
        ([("tensorflow", "2.18.0", "/site"), ("keras", "3.0", "/home/user")], ""),
    ],
)
def test_copies_of_a_framework_are_counted(copies: list[tuple[str, str, str]], words: str) -> None:
    snapshot = live(*(Distribution(*copy) for copy in copies), frameworks=(tensorflow(location="/home/user/tensorflow"),))
    findings = [one for one in found(snapshot, level=Level.LOOK) if one.name == "two-copies-of-framework"]
    assert [words in one.message for one in findings] == ([True] if words else [])
    assert all(one.severity is Severity.WARNING for one in findings)


def test_a_file_of_the_frameworks_name_hides_it() -> None:
    snapshot = live(frameworks=(torch(shadow="/project/torch.py"),))
    (finding,) = found(snapshot, level=Level.LOOK)
    assert (finding.name, finding.severity) == ("two-copies-of-framework", Severity.ERROR)
    assert "/project/torch.py is before the package torch" in finding.message
    assert not found(live(frameworks=(torch(shadow=ABSENT),)), level=Level.LOOK)


@pytest.mark.parametrize(("protobuf", "names"), [("4.21.0", ["protobuf-mismatch"]), ("3.20.1", []), ("3.19.6", [])])
def test_a_release_without_an_upper_bound_is_bound_by_the_next_that_has_one(protobuf: str, names: list[str]) -> None:
    rows = """
tensorflow,2.9.0,linux_x86_64,3.9,cuda,11.2,8.1,,,protobuf>=3.9.2,1,,,wheels,
tensorflow,2.9.1,linux_x86_64,3.9,cuda,11.2,8.1,,,"protobuf<3.20,>=3.9.2",1,,,wheels,
"""
    packages = (stated("tensorflow", "2.9.0", "protobuf>=3.9.2"), stated("protobuf", protobuf))
    tables = matrix(sources="wheels,Wheels,,2026-01-02", tensorflow=rows)
    diagnosis = diagnose(supposed(*packages, python="3.9"), tables, Policy(level=None))
    likely = [one for one in diagnosis.findings if one.confidence is Confidence.LIKELY]
    assert [one.name for one in likely] == names
