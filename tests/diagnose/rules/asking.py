"""What tests of single rules ask: the findings and outcomes of one rule on a machine, and machines with a change."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import Finding, Outcome, OutcomeKind, Policy
from gpudoctor.snapshot import Cause, KernelLog, Missing, Nvml, Snapshot, XidEvent
from tests.builders import address, machine
from tests.machines import golden
from tests.shipped import shared_matrix

UNSUPPORTED = Missing(Cause.UNSUPPORTED, "nvmlX answered 3 (Not Supported)")
MATRIX = shared_matrix()


def findings_of(rule: str, snapshot: Snapshot, policy: Policy | None = None) -> list[Finding]:
    """The findings of one rule, by name."""
    return [finding for finding in diagnose(snapshot, MATRIX, policy or Policy(level=None)).findings if finding.name == rule]


def outcomes_of(rule: str, snapshot: Snapshot, policy: Policy | None = None) -> list[Outcome]:
    """The outcomes of one rule, a subject each."""
    return [outcome for outcome in diagnose(snapshot, MATRIX, policy or Policy(level=None), RULES).outcomes if outcome.name == rule]


def kinds_of(rule: str, snapshot: Snapshot, policy: Policy | None = None) -> list[OutcomeKind]:
    """The kinds of outcome of one rule, a subject each."""
    return [outcome.kind for outcome in outcomes_of(rule, snapshot, policy)]


def shown_by(rule: str) -> list[str]:
    """The recorded machines on which the rule finds something."""
    return [name for name, said in golden.kept().items() if f" {rule} (" in said]


def with_gpus(*changes: dict[str, Any], **sections: Any) -> Snapshot:
    """A machine with one GPU for each dict of changes to what NVML says of it."""
    whole = machine(len(changes), **sections)
    assert isinstance(whole.nvml, Nvml)
    assert isinstance(whole.nvml.gpus, tuple)
    gpus = tuple(msgspec.structs.replace(gpu, **change) for gpu, change in zip(whole.nvml.gpus, changes, strict=True))
    return msgspec.structs.replace(whole, nvml=msgspec.structs.replace(whole.nvml, gpus=gpus))


def xids(*events: tuple[int, int]) -> KernelLog:
    """A kernel log with these Xids: code and number of the GPU."""
    return KernelLog("/dev/kmsg", tuple(XidEvent(code, address(gpu), f"pid=77, what {code} says") for code, gpu in events))
