from collections.abc import Iterator

from gpudoctor.derive import MachineView, require_known
from gpudoctor.diagnose.advice.system import read_log, reboot
from gpudoctor.diagnose.rule import CUDA_FAILS, advises, explains, rule
from gpudoctor.findings import Evidence, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import first_few
from gpudoctor.snapshot import Cause, Hang, Missing

HANG_SECONDS = 30
"""A call that takes longer hangs. Less is only slow, as with eight GPUs and persistence mode off."""


@rule("GD205", severity=Severity.ERROR, breaks=Rung.NVML, predicts=False)
@advises(read_log("NVRM|Xid|blocked for more than", "Read the kernel log first; it usually names the GPU"), reboot())
@explains((*CUDA_FAILS, "all-reduce-failed"), "Every program that calls a hung driver hangs too, or is stopped at its time limit.")
@explains(("gpu-count-mismatch",), "A hung call cannot list the GPUs.")
def driver_hung(machine: MachineView) -> Problems:
    """Driver call hangs."""
    for library, hang, where in _hanging_calls(machine):
        if not (hang.uninterruptible or hang.seconds >= HANG_SECONDS):
            continue
        state = "; the process cannot be killed (state D)" if hang.uninterruptible else ""
        yield Problem(
            message=f"{library} hangs in {hang.call}{where}: no response for {hang.seconds:.0f} s{state}.",
            evidence=(Evidence("call that hangs", hang.call, library), *_stuck_processes(machine)),
        )
    for section in (machine.observed.nvml, machine.observed.libcuda):
        if isinstance(section, Missing) and section.cause is not Cause.ABSENT:
            require_known(section, Rung.NVML)


def _hanging_calls(machine: MachineView) -> Iterator[tuple[str, Hang, str]]:
    """Yield the calls that did not return, each with its library and, of our kernel's, on which GPU."""
    labels = {gpu.key: gpu.label for gpu in machine.hardware}
    contexts = machine.observed.contexts
    sections = [("NVML", machine.observed.nvml), ("libcuda", machine.observed.libcuda)]
    for library, section in sections:
        if not isinstance(section, Missing) and isinstance(section.hang, Hang):
            yield library, section.hang, ""
    for context in () if isinstance(contexts, Missing) else contexts:
        if isinstance(context.hang, Hang):
            yield "libcuda", context.hang, f" on {labels.get(str(context.address), f'CUDA device {context.ordinal}')}"


def _stuck_processes(machine: MachineView) -> Iterator[Evidence]:
    """Yield processes in state D, as evidence."""
    stuck = machine.observed.stuck if isinstance(machine.observed.stuck, tuple) else ()
    for process in first_few(stuck):
        where = f" in {process.waits_in}" if isinstance(process.waits_in, str) else ""
        yield Evidence("process in state D", f"{process.name} (pid {process.pid}){where}", "/proc")
