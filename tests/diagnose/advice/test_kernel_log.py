"""What of the kernel log is shown."""

from __future__ import annotations

import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.kernel_log import kernel_log_evidence
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import KernelLog
from tests.builders import machine

LINES = ("NVRM: first fault at PCI:0000:01:00", "NVRM: second fault at PCI:0000:02:00", "NVRM: " + "x" * 500)


@pytest.mark.parametrize(
    ("pattern", "address", "shown"),
    [
        ("fault", "", [LINES[1]]),
        ("fault", "0000:01:00.0", [LINES[0]]),
        ("fault", "0000:03:00.0", []),
        ("x{9}", "", ["NVRM: " + "x" * 234]),
    ],
)
def test_the_last_line_that_matches_and_names_the_gpu_is_shown_in_its_first_240_characters(
    pattern: str, address: str, shown: list[str], matrix: Matrix
) -> None:
    seen = machine(3, kernel_log=KernelLog("/dev/kmsg", (), LINES))
    facts = kernel_log_evidence(MachineView(seen, matrix, Policy()), pattern, address)
    assert [(fact.value, fact.where) for fact in facts] == [(line, "/dev/kmsg") for line in shown]
