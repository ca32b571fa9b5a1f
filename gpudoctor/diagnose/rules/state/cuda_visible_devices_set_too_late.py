import re
from collections.abc import Iterator

import msgspec

from gpudoctor.derive import MachineView, not_applicable, not_stated
from gpudoctor.diagnose.advice.system import set_variable
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Action, Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import TextLog

_ASSIGNED_GPUS = re.compile(r"""[=,:]\s*['"](\d[\d,]*)['"]""")
_MOVE_ASSIGNMENT = Fix(
    "Move the assignment to the top of the program, before the first import of a framework", action=Action.CHANGE_SETTING
)


@rule("GD742", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.PARTLY, predicts=False)
def cuda_visible_devices_set_too_late(machine: MachineView) -> Problems:
    """CUDA_VISIBLE_DEVICES is set after CUDA started."""
    log = machine.observed.text_log
    if not isinstance(log, TextLog):
        not_applicable("only a text can show the program that sets it")
    late = log.set_by_program.get("used")
    if late is None and {*log.set_by_program} == {"code"}:
        return  # it sets the variable before anything that may start CUDA
    if late is None:
        not_stated("the text does not show whether the program used CUDA before it set CUDA_VISIBLE_DEVICES")
    yield Problem(
        message="The program sets CUDA_VISIBLE_DEVICES after it used CUDA, which reads the variable once, at its start.",
        confidence=Confidence.LIKELY,
        evidence=(Evidence("order of the program", late.value, late.where),),
        fixes=(_MOVE_ASSIGNMENT, *_set_in_shell(late.value)),
    )


def _set_in_shell(program: str) -> Iterator[Fix]:
    """Yield the fix that sets the variable before the program starts, if the program sets it to a list of GPUs."""
    value = _ASSIGNED_GPUS.search(program)
    if value:
        fix = set_variable("CUDA_VISIBLE_DEVICES", value[1], "Set it in the shell before the program starts")
        yield msgspec.structs.replace(fix, kind=FixKind.INSTEAD)
