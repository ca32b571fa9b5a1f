"""GD546 wheel-variant-mismatch."""

from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import NOT_ASKED, Cause, Distribution, Missing, Packages, Snapshot, Variant
from tests.builders import bare
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus

RULE = "wheel-variant-mismatch"
LOWER, UPPER, CODE = "cuda_version_lower_bound", "cuda_version_upper_bound", "sm_arch"


def built_for(**values: str) -> Variant:
    """A variant with these features of NVIDIA's namespace, each with values separated by spaces."""
    return Variant("cu", tuple(f"nvidia :: {name} :: {value}" for name, texts in values.items() for value in texts.split()))


def holding(variant: Variant | Missing, *capabilities: str) -> Snapshot:
    """A driver that supports CUDA 12.4, GPUs of these capabilities, and torch as this variant."""
    packages = Packages((Distribution("torch", "2.9.1", "/site", variant=variant),))
    return with_gpus(*({"compute_capability": capability} for capability in capabilities or ("8.0",)), packages=packages)


SUITS = [
    built_for(**{LOWER: "12.4"}),
    built_for(**{LOWER: "12"}),
    built_for(**{LOWER: "11.8", UPPER: "13"}),
    built_for(**{LOWER: "12.0 13.0"}),
    built_for(**{CODE: "75_real 80_real"}),
    built_for(**{CODE: "70_virtual"}),
    built_for(**{CODE: "80"}),
    built_for(**{CODE: "70"}),
    built_for(**{CODE: "80a_real"}),
    built_for(**{CODE: "unheard_of"}),
    built_for(**{CODE: "9_real 1000_real 90_unheard"}),
]


@pytest.mark.parametrize("variant", SUITS, ids=str)
def test_a_variant_for_this_machine(variant: Variant) -> None:
    assert kinds_of(RULE, holding(variant)) == [OutcomeKind.PASSED]


DOES_NOT = [
    (
        built_for(**{LOWER: "13.0"}),
        "built for drivers that support CUDA 13.0 or newer; driver 550.163.01 supports CUDA 12.4",
        Severity.ERROR,
    ),
    (built_for(**{LOWER: "12.8"}), "built for drivers that support CUDA 12.8 or newer", Severity.WARNING),
    (built_for(**{LOWER: "11.0", UPPER: "12.4"}), "built for drivers that support CUDA older than 12.4", Severity.ERROR),
    (built_for(**{CODE: "75_real 90_real"}), "built for compute capability 7.5, 9.0", Severity.ERROR),
    (built_for(**{CODE: "90_virtual"}), "built for compute capability 9.0", Severity.ERROR),
    (built_for(**{CODE: "90a_real"}), "built for compute capability 9.0", Severity.ERROR),
    (built_for(**{CODE: "100"}), "built for compute capability 10.0", Severity.ERROR),
]


@pytest.mark.parametrize(("variant", "said", "severity"), DOES_NOT)
def test_a_variant_for_another_machine(variant: Variant, said: str, severity: Severity) -> None:
    (finding,) = findings_of(RULE, holding(variant))
    assert said in finding.message
    assert finding.severity is severity
    assert "--force-reinstall --no-deps torch==2.9.1" in finding.fixes[0].command


@pytest.mark.parametrize(
    ("code", "capabilities", "served"),
    [
        ("120_real", ("12.0",), True),
        ("120_real", ("12.1",), True),
        ("121_real", ("12.0",), False),
        ("100_real", ("12.0",), False),
        ("100_virtual", ("12.0", "10.0"), True),
        ("80_real 90_real", ("9.0", "8.6"), True),
        ("80_real 90_real", ("9.0", "7.5"), False),
    ],
)
def test_machine_code_serves_its_generation_and_ptx_all_newer_ones(code: str, capabilities: tuple[str, ...], served: bool) -> None:
    assert bool(findings_of(RULE, holding(built_for(**{CODE: code}), *capabilities))) is not served


def test_every_gpu_must_be_served() -> None:
    assert len(findings_of(RULE, holding(built_for(**{CODE: "80_real"}), "8.0", "9.0"))) == 1


@pytest.mark.parametrize(
    "variant", [NOT_ASKED, Missing(Cause.FAILED, "not JSON"), Variant("x", ("x86_64 :: level :: v3",)), Variant("null", ())]
)
def test_other_wheels(variant: Variant | Missing) -> None:
    assert kinds_of(RULE, holding(variant)) == [OutcomeKind.NOT_APPLICABLE]


def test_a_machine_without_a_gpu() -> None:
    packages = Packages((Distribution("torch", "2.9.1", "/site", variant=built_for(**{LOWER: "13.0"})),))
    assert kinds_of(RULE, bare(packages=packages)) == [OutcomeKind.NOT_APPLICABLE]
