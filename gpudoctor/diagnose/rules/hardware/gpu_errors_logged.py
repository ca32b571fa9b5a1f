"""GD118: gpu-errors-logged."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Ladder
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.diagnose.rule import need, rule
from gpudoctor.diagnose.rules.multi_gpu.nvlinks import NVLINK_XIDS
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import KernelLog, Missing, XidEvent

_HARMLESS = "IGNORE"


_PROGRAM = ("RESTART_APP", "WORKFLOW_XID_45", "CHECK_UVM")
"""The catalogue's actions for what a program did, not the GPU."""


_NAMED = {48, 54, 63, 64, 79, 94, 95, 119, 120, *NVLINK_XIDS}
"""Codes that other rules judge, with what else is known of the GPU."""


class _Kind:
    """All events of one code."""

    def __init__(self, code: int, events: list[XidEvent], matrix: Matrix) -> None:
        known = matrix.xid(code)
        self.action = known.action if known else ""
        self.meaning = known.meaning if known else "not in NVIDIA's catalogue as this gpudoctor knows it"
        self.name = f"Xid {code}"
        self.times = f" × {len(events)}" if len(events) > 1 else ""  # noqa: RUF001 -- a cross counts
        self.last = events[-1]

    @property
    def of_gpu(self) -> bool:
        """Whether the catalogue wants more for it than the program's restart."""
        return bool(self.action) and self.action not in _PROGRAM


def _kinds(gpu: Gpu, log: KernelLog, matrix: Matrix) -> list[_Kind]:
    own = [event for event in log.events if event.address == gpu.key and not event.switch and event.code not in _NAMED]
    codes = dict.fromkeys(event.code for event in own)
    kinds = (_Kind(code, [event for event in own if event.code == code], matrix) for code in codes)
    return sorted((kind for kind in kinds if kind.action != _HARMLESS), key=lambda kind: not kind.of_gpu)


@rule("GD118", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def gpu_errors_logged(gpu: Gpu, log: KernelLog | Missing, matrix: Matrix, ladder: Ladder) -> Iterator[Problem]:
    """The driver logged errors (Xids) of this GPU since the boot.

    ## Why it matters
    An Xid is the driver's word for an error of a GPU or of a program on it. Some mean that a program read memory that is not its own,
    others that the GPU, its memory or its links fail. NVIDIA's catalogue says which, and what to do at once.

    ## What to do
    Where the catalogue asks for a reset or a repair, do that before the next long training. Where a program is at fault, look for the
    bug with `compute-sanitizer`; the same Xid from many programs on one GPU and on none of its siblings speaks for the GPU all the same.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    - https://docs.nvidia.com/deploy/gpu-debug-guidelines/
    """
    log = need(log, Rung.KERNEL_DRIVER)
    kinds = _kinds(gpu, log, matrix)
    if not kinds:
        return
    worst, told = kinds[0], ", ".join(f"{kind.name}{kind.times} ({kind.meaning})" for kind in kinds[:3])
    more = f", and {len(kinds) - 3} other codes" if len(kinds) > 3 else ""
    yield Problem(
        message=f"{gpu.label}: the driver logged {told}{more}.",
        severity=None if worst.of_gpu and not ladder.proven(gpu.key, Rung.KERNEL_RAN) else Severity.NOTE,
        confidence=Confidence.LIKELY if worst.of_gpu else Confidence.POSSIBLE,
        evidence=tuple(Evidence(kind.name, kind.last.text[:120], log.where) for kind in kinds[:3]),
        fixes=(read_log(rf"Xid \(PCI:{gpu.key[:-2]}", "Read all of them"), *_remedies(worst, gpu)),
    )


def _remedies(worst: _Kind, gpu: Gpu) -> tuple[Fix, ...]:
    if not worst.of_gpu:
        return (Fix("Look for the error in the program", "compute-sanitizer python TRAINING.py", kind=FixKind.CHECK),)
    if worst.action == "RESET_GPU":
        return (Fix(f"Reset the GPU, as NVIDIA asks for after {worst.name}", f"sudo nvidia-smi --gpu-reset -i {gpu.key}", (ROOT,)),)
    return (Fix(f"Do what NVIDIA's catalogue asks for after {worst.name}: {worst.action.replace('_', ' ').lower()}.", needs=(ROOT,)),)
