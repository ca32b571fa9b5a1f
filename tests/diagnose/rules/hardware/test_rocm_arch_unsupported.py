from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Amd, Cause, Missing, Pci, Snapshot, Variables
from tests.builders import ABSENT, TIMED_OUT, bare, machine, torch
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.hardware.samples import RADEON

RULE = "rocm-arch-unsupported"


def radeon(architectures: Any, *targets: str, **changes: Any) -> Snapshot:
    """A ROCm build with kernels for these architectures, on GPUs with these targets."""
    framework = torch(cuda_build=False, rocm_build=True, architectures=architectures)
    return bare(**{"pci": Pci((RADEON,)), "frameworks": (framework,), "amd": tuple(map(Amd, targets)), **changes})


@pytest.mark.parametrize(
    ("built", "kind"),
    [
        (("gfx1030:xnack-",), OutcomeKind.PASSED),
        (("gfx90a",), OutcomeKind.FOUND),
        (Missing(Cause.ABSENT, "no folder"), OutcomeKind.COULD_NOT_TELL),
    ],
)
def test_targets_of_a_build(built: Any, kind: OutcomeKind) -> None:
    assert kinds_of(RULE, radeon(built, "gfx1030")) == [kind]


def test_one_target_of_two_is_enough() -> None:
    assert kinds_of(RULE, radeon(("gfx1100",), "gfx1036", "gfx1100")) == [OutcomeKind.PASSED]


def test_both_targets_are_named() -> None:
    (finding,) = findings_of(RULE, radeon(("gfx90a", "gfx942"), "gfx1036", "gfx1100"))
    assert finding.message.endswith("has no kernels for gfx1036 and gfx1100 (it has gfx90a, gfx942).")


def test_it_does_not_apply_to_cuda_builds_or_without_a_gpu_that_rocm_serves() -> None:
    assert kinds_of(RULE, machine(1, frameworks=(torch(),))) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, radeon(("gfx90a",), amd=ABSENT)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, radeon(("gfx90a",), amd=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(
    ("built", "target", "name", "value", "kind"),
    [
        (("gfx1030",), "gfx1031", "", "10.3.0", OutcomeKind.PASSED),
        (("gfx90a",), "gfx908", "", "9.0.10", OutcomeKind.PASSED),
        (("gfx1030",), "gfx1030", "", "11.0.0", OutcomeKind.FOUND),
        (("gfx1030",), "gfx1031", "", "10.3", OutcomeKind.COULD_NOT_TELL),
        (("gfx1030",), "gfx1031", "", "", OutcomeKind.FOUND),
        (("gfx1030",), "gfx1031", "_1", "10.3.0", OutcomeKind.COULD_NOT_TELL),
        (("gfx1030",), "gfx1030", "_1", "11.0.0", OutcomeKind.PASSED),
    ],
)
def test_the_target_is_the_one_that_an_override_names(built: Any, target: str, name: str, value: str, kind: OutcomeKind) -> None:
    variables = Variables({f"HSA_OVERRIDE_GFX_VERSION{name}": value})
    assert kinds_of(RULE, radeon(built, target, variables=variables)) == [kind]


@pytest.mark.parametrize(
    ("built", "targets", "version"),
    [
        (("gfx1030", "gfx1100", "gfx90a"), ("gfx1031",), "10.3.0"),
        (("gfx1100", "gfx1102"), ("gfx1103", "gfx1101"), "11.0.0"),
        (("gfx1030", "gfx1100"), ("gfx1036", "gfx1101"), ""),
        (("gfx900", "gfx906"), ("gfx90c",), ""),
        (("gfx1012",), ("gfx1010",), ""),
    ],
)
def test_an_override_is_offered_where_the_build_has_the_first_target_of_the_family(
    built: Any, targets: tuple[str, ...], version: str
) -> None:
    (finding,) = findings_of(RULE, radeon(built, *targets))
    assert [fix.command for fix in finding.fixes] == ["", *([f"export HSA_OVERRIDE_GFX_VERSION={version}"] if version else [])]


def test_a_wrong_override_is_unset() -> None:
    (finding,) = findings_of(RULE, radeon(("gfx1030",), "gfx1030", variables=Variables({"HSA_OVERRIDE_GFX_VERSION": "11.0.0"})))
    assert "has no kernels for gfx1100 (it has gfx1030); HSA_OVERRIDE_GFX_VERSION=11.0.0" in finding.message
    assert [fix.command for fix in finding.fixes] == ["unset HSA_OVERRIDE_GFX_VERSION"]
