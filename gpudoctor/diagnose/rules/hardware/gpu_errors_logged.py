import msgspec

from gpudoctor.derive import GpuView
from gpudoctor.derive.xids import NAMED_XIDS
from gpudoctor.diagnose.advice.kernel_log import line_excerpt
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.diagnose.advice.xids import action_text
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import ROOT, Action, Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import few_names, first_few

_IGNORED_ACTION = "IGNORE"
_PROGRAM_ACTIONS = ("RESTART_APP", "WORKFLOW_XID_45", "CHECK_UVM")
"""The catalogue's actions for a fault of the program, not the GPU."""
_ACTIONS = {
    "RESTART_VM": Action.REBOOT,
    "RESTART_BM": Action.REBOOT,
    "UPDATE_SWFW": Action.UPDATE_DRIVER,
    "CHECK_MECHANICALS": Action.REPLACE_HARDWARE,
}
"""What a step comes to; the others are the vendor's or administrator's."""


class _LoggedError(msgspec.Struct, frozen=True):
    """All events of one code."""

    name: str
    meaning: str
    action: str
    times: int
    last: str

    @property
    def text(self) -> str:
        times = f" × {self.times}" if self.times > 1 else ""  # noqa: RUF001 -- a cross counts
        return f"{self.name}{times} ({self.meaning})"

    @property
    def by_gpu(self) -> bool:
        """Whether the catalogue asks for more than a restart of the program."""
        return bool(self.action) and self.action not in _PROGRAM_ACTIONS


@rule("GD118", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK, predicts=False)
def gpu_errors_logged(gpu: GpuView) -> Problems:
    """Driver logged Xid errors for this GPU."""
    log = gpu.machine.kernel_log
    errors = _logged_errors(gpu)
    if not errors:
        return
    worst = errors[0]
    yield Problem(
        message=f"{gpu.label}: the driver logged {few_names([error.text for error in errors])}.",
        severity=None if worst.by_gpu and not gpu.has_run_kernel else Severity.NOTE,
        confidence=Confidence.LIKELY if worst.by_gpu else Confidence.POSSIBLE,
        evidence=tuple(Evidence(error.name, line_excerpt(error.last), log.where) for error in first_few(errors)),
        fixes=(read_log(rf"Xid \(PCI:{gpu.key[:-2]}", "List all Xid errors of this GPU"), _remedy(worst, gpu)),
    )


def _logged_errors(gpu: GpuView) -> list[_LoggedError]:
    """Return the errors that no other rule checks, those of the GPU itself first."""
    events = gpu.machine.kernel_log.events
    codes = dict.fromkeys(event.code for event in events if event.code not in NAMED_XIDS)
    errors = [_logged_error(gpu, code) for code in codes if gpu.xids(code)]
    return sorted((error for error in errors if error.action != _IGNORED_ACTION), key=lambda error: not error.by_gpu)


def _logged_error(gpu: GpuView, code: int) -> _LoggedError:
    row, events = gpu.machine.matrix.xid(code), gpu.xids(code)
    meaning = row.meaning if row else "not in NVIDIA's Xid catalogue"
    return _LoggedError(f"Xid {code}", meaning, row.action if row else "", len(events), events[-1].text)


def _remedy(worst: _LoggedError, gpu: GpuView) -> Fix:
    if not worst.by_gpu:
        return Fix("Find the bug in the program", "compute-sanitizer python TRAINING.py", kind=FixKind.CHECK)
    if worst.action == "RESET_GPU":
        return Fix(
            f"Stop all processes on the GPU and reset it (NVIDIA's action for {worst.name})",
            f"sudo nvidia-smi --gpu-reset -i {gpu.selector}",
            action=Action.RESET_GPU,
        )
    step = action_text(worst.action)
    action = _ACTIONS.get(worst.action, Action.CONTACT_ADMINISTRATOR)
    return Fix(f"{step[:1].upper()}{step[1:]} (NVIDIA's action for {worst.name}).", needs=(ROOT,), action=action)
