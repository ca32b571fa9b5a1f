"""GD544 gpu-below-framework-minimum."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Impact, OutcomeKind, Severity
from gpudoctor.snapshot import SUPPOSED, Distribution, Packages, Snapshot
from tests.builders import bare
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus
from tests.plan.samples import checked

RULE = "gpu-below-framework-minimum"


def on(*capabilities: str, version: str = "0.9.1", name: str = "vllm") -> Snapshot:
    """A package on GPUs of these compute capabilities."""
    packages = Packages((Distribution(name, version, "/site"),))
    return with_gpus(
        *({"name": f"GPU of {capability}", "compute_capability": capability} for capability in capabilities), packages=packages
    )


@pytest.mark.parametrize(("version", "capability", "needs"), [("0.9.1", "6.1", "7.0"), ("0.4.0", "6.0", "7.0"), ("0.21.0", "7.0", "7.5")])
def test_a_gpu_below_the_minimum_is_found(version: str, capability: str, needs: str) -> None:
    (finding,) = findings_of(RULE, on(capability, version=version))
    assert finding.message.startswith(f"vllm {version} needs compute capability {needs} or newer")


def test_a_package_that_is_only_installed_keeps_no_framework_from_training() -> None:
    installed = on("6.1")
    (finding,) = findings_of(RULE, installed)
    assert (finding.severity, finding.impact) == (Severity.WARNING, Impact.PARTLY)
    (asked_for,) = findings_of(RULE, msgspec.structs.replace(installed, origin=SUPPOSED))
    assert asked_for.severity is Severity.ERROR


def test_a_newer_gpu_beside_it_is_enough() -> None:
    assert kinds_of(RULE, on("6.1", "8.6")) == [OutcomeKind.PASSED]


def test_a_gpu_at_the_minimum_passes() -> None:
    assert kinds_of(RULE, on("7.0")) == [OutcomeKind.PASSED]


def test_a_package_that_states_a_minimum_speaks_for_what_it_requires() -> None:
    """vLLM 0.12 requires FlashInfer, which refuses 7.0, and runs there without it."""
    both = (Distribution("vllm", "0.12.0", "/site"), Distribution("flashinfer-python", "0.5.3", "/site"))
    assert kinds_of(RULE, with_gpus({"name": "GPU of 7.0", "compute_capability": "7.0"}, packages=Packages(both))) == [OutcomeKind.PASSED]
    (finding,) = findings_of(RULE, on("7.0", name="flashinfer-python", version="0.5.3"))
    assert finding.message.startswith("flashinfer-python 0.5.3 needs compute capability 7.5 or newer")


def test_a_package_that_was_asked_for_speaks_for_itself() -> None:
    assert RULE not in {finding.name for finding in checked("vllm==0.12.0", gpus=("V100",)).findings}
    cause = checked("vllm==0.12.0", "flashinfer-python==0.5.3", gpus=("V100",)).root_causes[0]
    assert (cause.name, cause.message.partition(" needs")[0]) == (RULE, "flashinfer-python 0.5.3")


def test_other_outcomes() -> None:
    assert kinds_of(RULE, on("6.1", name="einops")) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, bare(packages=Packages((Distribution("vllm", "0.9.1", "/site"),)))) == [OutcomeKind.NOT_APPLICABLE]
