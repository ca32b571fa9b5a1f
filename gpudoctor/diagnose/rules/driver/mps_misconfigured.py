from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.libcuda import failed_call
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Libcuda, Missing, Mps, Status
from gpudoctor.status_codes import MPS_ERRORS

_DEFAULT_FOLDER = "/tmp/nvidia-mps"  # noqa: S108 -- CUDA's default
_START_DAEMON = Fix("Start the MPS daemon as the user who runs the programs", "nvidia-cuda-mps-control -d")


@rule("GD221", severity=Severity.ERROR, breaks=Rung.LIBCUDA, predicts=False, sees_more_at=Level.TOUCH)
@explains(CUDA_FAILS, "A CUDA program that finds MPS pipes fails if no daemon serves it.")
def mps_misconfigured(machine: MachineView) -> Problems:
    """CUDA Multi-Process Service (MPS) does not work."""
    mps = machine.observed.mps
    folder = mps.directory if isinstance(mps, Mps) else _DEFAULT_FOLDER
    failure = _mps_error(machine)
    if failure:
        message = f"CUDA cannot connect to MPS: {failure}."
    elif _lacks_daemon(machine):
        message = f"CUDA_MPS_PIPE_DIRECTORY is {folder}, but no MPS daemon runs there: programs run without MPS."
    else:
        return
    yield Problem(
        severity=None if failure else Severity.NOTE,
        message=message,
        evidence=tuple(_mps_evidence(mps, folder)),
        fixes=(_START_DAEMON, _run_without_mps(mps, folder)),
    )


def _mps_error(machine: MachineView) -> str:
    """Return the first call that returned an MPS error, as text; empty where none did."""
    libcuda, contexts = machine.observed.libcuda, machine.observed.contexts
    answers = []
    if isinstance(libcuda, Libcuda) and isinstance(libcuda.init, Status):
        answers.append(("cuInit", libcuda.init))
    for context in () if isinstance(contexts, Missing) else contexts:
        call = failed_call(context)
        if call is not None:
            answers.append((call.call, call.status))
    return next((f"{call} returns {status.code} ({status.name})" for call, status in answers if status.code in MPS_ERRORS), "")


def _lacks_daemon(machine: MachineView) -> bool:
    """Return whether a variable asks for MPS and no daemon runs; ends the rule where cuInit did not return."""
    mps = machine.observed.mps
    asked = isinstance(mps, Mps) and not mps.control and mps.where != "default"
    return isinstance(machine.cuda_init, Status) and bool(machine.hardware) and asked


def _mps_evidence(mps: Mps | Missing, folder: str) -> Iterator[Evidence]:
    state = "unknown" if isinstance(mps, Missing) else "found" if mps.control else "not found"
    yield Evidence("the daemon's control pipe", state, f"{folder}/control")
    if isinstance(mps, Mps):
        yield Evidence("MPS folder", folder, mps.where)


def _run_without_mps(mps: Mps | Missing, folder: str) -> Fix:
    """Return the fix that unsets the variable or, without one, removes the default folder, whose stale pipes programs find."""
    if isinstance(mps, Mps) and mps.where != "default":
        return Fix("Run without MPS", "unset CUDA_MPS_PIPE_DIRECTORY", kind=FixKind.INSTEAD)
    return Fix("Run without MPS: remove the stale pipes", f"sudo rm -r {shell_path(folder)}", kind=FixKind.INSTEAD)
