from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Distribution, FrameworkLibraries, Libraries, UnresolvedSymbol
from tests.builders import tensorflow, torch
from tests.diagnose.rules.packaged import found, live, outcome, roots, stated, supposed


def test_the_version_of_cudnn_is_another_rules_business() -> None:
    snapshot = supposed(stated("torch", "2.8.0", "nvidia-cudnn-cu12==9.10.2.21"), stated("nvidia-cudnn-cu12", "9.1.0.70"))
    assert not {name for name, _ in roots(snapshot)} & {"nvidia-wheel-version-conflict", "package-requirement-conflict"}


def test_pins_of_two_frameworks_that_cannot_hold_together_are_one_conflict() -> None:
    pins = ("nvidia-cublas-cu12==12.5.3.2", "nvidia-nccl-cu12==2.21.5", "protobuf<5")
    snapshot = supposed(
        stated("torch", "2.2.2", "nvidia-cublas-cu12==12.1.3.1", "nvidia-nccl-cu12==2.19.3"),
        stated("tensorflow", "2.17.0", *pins),
        stated("jax", "0.8.0", "protobuf>=5", extras=("cuda12",)),
    )
    assert roots(snapshot)[:2] == [("nvidia-wheel-version-conflict", "error"), ("package-requirement-conflict", "error")]
    (nvidia,) = (finding for finding in found(snapshot) if finding.name == "nvidia-wheel-version-conflict")
    assert "torch 2.2.2 requires nvidia-cublas-cu12==12.1.3.1" in nvidia.message
    assert nvidia.message.endswith("The same applies to nvidia-nccl-cu12.")


def test_a_build_without_cuda_has_no_use_for_nvidias_packages() -> None:
    wants = Distribution("tensorflow-cpu", "2.18.0", "/site", requires=("nvidia-cublas-cu12==12.5.3.2;extra=='and-cuda'",))
    snapshot = live(
        wants,
        Distribution("nvidia-cublas-cu12", "12.4.5.8", "/site"),
        frameworks=(tensorflow(distribution="tensorflow-cpu", cuda_build=False),),
    )
    assert outcome(snapshot, "nvidia-wheel-version-conflict") is OutcomeKind.PASSED


@pytest.mark.parametrize(
    ("owner", "severity"),
    [("nvidia-nvjitlink-cu12", Severity.ERROR), ("nvidia-nccl-cu12", Severity.WARNING), ("", Severity.WARNING)],
)
def test_a_package_that_lacks_a_function_which_a_library_needs_is_an_error(owner: str, severity: Severity) -> None:
    symbol = UnresolvedSymbol("__nvJitLinkCreate_12_4", "/site/nvidia/cusparse/lib/libcusparse.so.12", "/site/libnvJitLink.so.12", owner)
    snapshot = live(
        Distribution("torch", "2.8.0", "/site", requires=("nvidia-nvjitlink-cu12==12.4.127",)),
        Distribution("nvidia-nvjitlink-cu12", "12.1.105", "/site"),
        frameworks=(torch(),),
        libraries=Libraries((FrameworkLibraries("torch", unresolved=(symbol,)),)),
    )
    (finding,) = (finding for finding in found(snapshot) if finding.name == "nvidia-wheel-version-conflict")
    assert finding.severity is severity
    words = "libcusparse.so.12 does not load: it needs __nvJitLinkCreate_12_4, which nvidia-nvjitlink-cu12 12.1.105 does not define."
    assert finding.message.endswith(words) is (severity is Severity.ERROR)


CU11, CU12 = Distribution("nvidia-nccl-cu11", "2.21.5", "/site"), Distribution("nvidia-nccl-cu12", "2.23.4", "/site")


@pytest.mark.parametrize(
    ("requires", "kept", "removed"),
    [
        ((), CU12, CU11),
        (("nvidia-nccl-cu11==2.21.5",), CU11, CU12),
        (("nvidia-nccl-cu12==2.23.4",), CU12, CU11),
        (("nvidia-nccl-cu11==2.21.5", "nvidia-nccl-cu12==2.23.4"), CU12, CU11),
    ],
    ids=["nothing requires one", "the older is required", "the newer is required", "both are required"],
)
def test_of_two_packages_with_the_same_files_the_required_or_else_the_newer_stays(
    requires: tuple[str, ...], kept: Distribution, removed: Distribution
) -> None:
    snapshot = live(Distribution("torch", "2.6.0", "/site", requires=requires), CU12, CU11, frameworks=(torch(),))
    (conflict,) = (finding for finding in found(snapshot) if finding.name == "nvidia-wheel-version-conflict")
    assert conflict.fixes[0].title == f"Remove {removed.label}, and reinstall {kept.label}"
    remove, _, install = (conflict.fixes[0].command or "").partition(" && ")
    assert remove.endswith(f"uninstall -y {removed.name}")
    assert install.endswith(f"{kept.name}=={kept.version}")


@pytest.mark.parametrize(
    ("count", "more"), [(1, ""), (2, " (1 more of its requirements is not met)"), (3, " (2 more of its requirements are not met)")]
)
def test_requirements_of_one_package_are_one_conflict(count: int, more: str) -> None:
    names = ("nvidia-cublas-cu12", "nvidia-cufft-cu12", "nvidia-nccl-cu12")[:count]
    wants = Distribution("torch", "2.6.0", "/site", requires=tuple(f"{name}==9.0" for name in names))
    snapshot = live(wants, *(Distribution(name, "8.0", "/site") for name in names), frameworks=(torch(),))
    (conflict,) = (finding for finding in found(snapshot) if finding.name == "nvidia-wheel-version-conflict")
    assert conflict.message == f"torch 2.6.0 requires nvidia-cublas-cu12==9.0, but nvidia-cublas-cu12 8.0 is installed{more}."
    assert (conflict.fixes[0].command or "").endswith(" ".join(f"{name}==9.0" for name in names))


def test_each_library_keeps_its_own_package() -> None:
    """NCCL's is the one that is required, and of cuDNN's that for the newer CUDA, since nothing requires one."""
    cudnn = (Distribution("nvidia-cudnn-cu11", "9.1.0.70", "/site"), Distribution("nvidia-cudnn-cu12", "9.1.0.70", "/site"))
    wants = Distribution("torch", "2.6.0", "/site", requires=("nvidia-nccl-cu11==2.21.5",))
    snapshot = live(wants, CU12, CU11, *cudnn, frameworks=(torch(),))
    (conflict,) = (finding for finding in found(snapshot) if finding.name == "nvidia-wheel-version-conflict")
    assert conflict.fixes[0].installs == ("nvidia-cudnn-cu12==9.1.0.70", "nvidia-nccl-cu11==2.21.5")
    assert "uninstall -y nvidia-cudnn-cu11 nvidia-nccl-cu12 &&" in (conflict.fixes[0].command or "")
    assert len(conflict.evidence) == 4
