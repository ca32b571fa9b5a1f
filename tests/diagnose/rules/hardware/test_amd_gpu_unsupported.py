from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Policy, Severity
from gpudoctor.snapshot import Pci, Snapshot
from tests.builders import TIMED_OUT, bare, card, machine, tensorflow, torch
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.hardware.samples import RADEON

RULE = "amd-gpu-unsupported"


def radeon(*frameworks: object, **changes: object) -> Snapshot:
    return bare(pci=Pci((RADEON,)), frameworks=frameworks, **changes)


def test_pytorch_has_a_command_for_its_rocm_build() -> None:
    (finding,) = findings_of(RULE, radeon(tensorflow(), torch()))
    assert finding.message == "tensorflow and torch are CUDA builds and cannot use the GPU (AMD 1002:73bf)."
    assert finding.fixes[0].command.endswith(" --reinstall torch --torch-backend=auto")


def test_another_framework_links_to_amds_pages() -> None:
    (finding,) = findings_of(RULE, radeon(tensorflow()))
    assert (finding.fixes[0].command, "rocm.docs.amd.com" in finding.fixes[0].title) == ("", True)


def test_it_is_a_note_if_the_cpu_is_allowed() -> None:
    (finding,) = findings_of(RULE, radeon(tensorflow()), Policy(level=None, allow_cpu=True))
    assert finding.severity is Severity.NOTE


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, pci=Pci((card(0), RADEON)))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, radeon(torch(cuda_build=False, rocm_build=True))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, bare(pci=Pci((RADEON,)), frameworks=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, bare(pci=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
