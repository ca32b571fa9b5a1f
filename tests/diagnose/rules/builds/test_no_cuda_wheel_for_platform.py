from __future__ import annotations

import re

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.snapshot import Distribution, Host
from tests.diagnose.rules.packaged import ARM, LINUX, MAC, UNSTATED, WINDOWS, found, roots, stated, supposed
from tests.shipped import shared_matrix


@pytest.mark.parametrize(
    ("packages", "host", "expected"),
    [
        ((stated("tensorflow", "2.17.0"),), WINDOWS, [("windows-native-no-gpu", "error")]),
        ((stated("tensorflow", "2.10.1"),), WINDOWS, [("python-version-unsupported", "error")]),
        ((stated("tensorflow", "2.99.0"),), WINDOWS, [("windows-native-no-gpu", "error")]),
        ((stated("jax", "0.8.0", extras=("cuda12",)),), WINDOWS, [("windows-native-no-gpu", "error")]),
        ((stated("torch", "2.2.2"),), WINDOWS, [("cpu-only-build", "error")]),
        ((stated("torch", "2.2.2"),), MAC, [("no-cuda-wheel-for-platform", "error")]),
        ((stated("tensorflow", "2.17.0"),), ARM, [("no-cuda-wheel-for-platform", "error")]),
        ((stated("tensorflow", "2.17.0"),), LINUX, []),
        ((stated("torch", "2.8.0"),), WINDOWS, [("package-not-installable", "error")]),
    ],
)
def test_the_platforms_name_comes_first(packages: tuple[Distribution, ...], host: Host, expected: list[tuple[str, str]]) -> None:
    assert roots(supposed(*packages, host=host)) == expected


def test_a_build_without_cuda_is_a_consequence_of_the_platform() -> None:
    findings = found(supposed(stated("torch", "2.2.2"), host=MAC))
    assert [(finding.name, bool(finding.because_of)) for finding in findings] == [
        ("no-cuda-wheel-for-platform", False),
        ("cpu-only-build", True),
    ]
    known = diagnose(supposed(stated("torch", "2.8.0"), host=WINDOWS), shared_matrix(), Policy(level=None)).findings
    assert re.search(r"torch==([\d.]+)\+(cu\d+) --index-url https://download\.pytorch\.org/whl/\2$", known[0].fixes[0].command)
    assert re.search(r"has no CUDA wheel on the package index for macOS \(\w+\), only for Linux \(x86_64\)", findings[0].message)


@pytest.mark.parametrize("host", [WINDOWS, MAC, ARM])
def test_without_a_gpu_a_build_without_cuda_is_no_fault(host: Host) -> None:
    packages = (stated("torch", "2.2.2"), stated("tensorflow", "2.17.0"))
    names = {name for name, _ in roots(supposed(*packages, host=host, nvml=UNSTATED))}
    assert not names & {"no-cuda-wheel-for-platform", "windows-native-no-gpu", "cpu-only-build"}
