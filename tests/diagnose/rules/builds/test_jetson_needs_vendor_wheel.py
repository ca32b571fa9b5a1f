from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import (
    CudaDevice,
    Distribution,
    Fact,
    FrameworkLibraries,
    GpuCode,
    Host,
    Libcuda,
    Libraries,
    Packages,
    Platform,
    Snapshot,
)
from tests.builders import SUCCESS, TIMED_OUT, address, machine, torch
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "jetson-needs-vendor-wheel"
ORIN = Libcuda(init=SUCCESS, cuda_served="12.6", devices=(CudaDevice(0, address=address(0), compute_capability="8.7"),))


def jetson(tegra: Any = "36.4.3", **changes: Any) -> Snapshot:
    host = Host(platform=Platform.JETSON, architecture="aarch64", tegra=tegra)
    return machine(1, **({"host": host, "libcuda": ORIN, "frameworks": (torch(),)} | changes))


def code(*sass: str) -> Libraries:
    return Libraries(frameworks=(FrameworkLibraries("torch", uses=(), code=GpuCode(sass, ())),))


def test_a_build_for_the_cpu() -> None:
    (found,) = findings_of(RULE, jetson(frameworks=(torch(cuda_build=False),)))
    assert "is a generic ARM wheel (CPU only)" in found.message


def test_a_build_for_servers_is_told_by_its_code() -> None:
    (found,) = findings_of(RULE, jetson(libraries=code("sm_80", "sm_90")))
    assert "with kernels for sm_80 sm_90" in found.message
    assert found.confidence is Confidence.CERTAIN


def test_a_build_for_servers_is_told_by_its_packages() -> None:
    packages = Packages((Distribution("nvidia-cublas-cu12", "12.4.5.8", "/site"),))
    (found,) = findings_of(RULE, jetson(packages=packages))
    assert found.confidence is Confidence.LIKELY


def test_other_outcomes() -> None:
    assert kinds_of(RULE, jetson(libraries=code("sm_87"))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, jetson("38.2")) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, jetson(frameworks=(torch(version=Fact("2.5.0a0+872d972e41.nv24.8", "x")),))) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, jetson(TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_APPLICABLE]


@pytest.mark.parametrize(
    ("kernel", "release"),
    [
        ("4.8.17", ""),
        ("4.9.0", "32"),
        ("5.9.16", "32"),
        ("5.10.0", "35"),
        ("5.14.21", "35"),
        ("5.15.0", "36"),
        ("6.7.12", "36"),
        ("6.8.0", "38"),
    ],
)
def test_the_kernel_tells_the_release(kernel: str, release: str) -> None:
    host = Host(platform=Platform.JETSON, architecture="aarch64", tegra=TIMED_OUT, kernel=f"{kernel}-tegra")
    seen = jetson(host=host, frameworks=(torch(cuda_build=False),))
    expected = {"": OutcomeKind.COULD_NOT_TELL, "38": OutcomeKind.NOT_APPLICABLE}.get(release, OutcomeKind.FOUND)
    assert kinds_of(RULE, seen) == [expected]
    assert [finding.message for finding in findings_of(RULE, seen) if f"Jetson Linux {release} needs" not in finding.message] == []


@pytest.mark.parametrize(
    ("changes", "kind", "why"),
    [
        ({"packages": Packages(()), "frameworks": (torch(sees_gpu=False),)}, OutcomeKind.FOUND, "it sees no GPU"),
        ({"packages": Packages(())}, OutcomeKind.PASSED, ""),
        ({}, OutcomeKind.NOT_ASKED, ""),
        ({"libraries": code()}, OutcomeKind.FOUND, "with kernels for no GPU"),
        ({"libraries": code("sm_80"), "libcuda": TIMED_OUT, "packages": Packages(())}, OutcomeKind.PASSED, ""),
    ],
    ids=["it sees no GPU", "nothing speaks against it", "packages unread", "without kernels", "the GPU's capability unknown"],
)
def test_a_build_whose_code_was_not_read(changes: dict[str, Any], kind: OutcomeKind, why: str) -> None:
    assert kinds_of(RULE, jetson(**changes)) == [kind]
    assert [why in finding.message for finding in findings_of(RULE, jetson(**changes))] == [True] * bool(why)


@pytest.mark.parametrize(
    ("kernel", "release"), [("4.9.253-tegra", "32"), ("5.10.104-tegra", "35"), ("5.15.148-tegra", "36"), ("6.8.12-tegra", "")]
)
def test_the_kernel_tells_the_release_of_jetson_linux_where_nothing_else_does(kernel: str, release: str) -> None:
    host = Host(platform=Platform.JETSON, architecture="aarch64", kernel=kernel)
    found = findings_of(RULE, jetson(host=host, frameworks=(torch(cuda_build=False),)))
    assert [f"(CPU only); Jetson Linux {release} needs" in finding.message for finding in found] == [True] * bool(release)
