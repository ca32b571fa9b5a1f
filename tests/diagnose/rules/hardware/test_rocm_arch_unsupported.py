from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Amd, Cause, Missing, Pci, Snapshot
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
