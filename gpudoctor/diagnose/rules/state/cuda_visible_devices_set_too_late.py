"""GD742: cuda-visible-devices-set-too-late."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.unknown import not_applicable
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.findings.actions import Action
from gpudoctor.snapshot import TextLog

_EARLIER = Fix("Set CUDA_VISIBLE_DEVICES on the command line", "CUDA_VISIBLE_DEVICES=1 python train.py", action=Action.CHANGE_SETTING)
_FIRST = Fix("Move the assignment to the top of the program, before the first import of a framework", kind=FixKind.INSTEAD)


@rule("GD742", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", predicts=False)
def cuda_visible_devices_set_too_late(machine: MachineView) -> Iterator[Problem]:
    """CUDA_VISIBLE_DEVICES is set after CUDA started."""
    log = machine.observed.text_log
    if not isinstance(log, TextLog):
        not_applicable("only a text can show the program that sets it")
    late = log.set_by_program.get("used")
    if late is None:
        return
    yield Problem(
        message="The program sets CUDA_VISIBLE_DEVICES after it used CUDA, which reads the variable once, at its start.",
        confidence=Confidence.LIKELY,
        evidence=(Evidence("order of the program", late.value, late.where),),
        fixes=(_EARLIER, _FIRST),
    )
