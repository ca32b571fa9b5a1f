"""GD221: mps-misconfigured."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.rule import Explains, need, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Rung, Severity
from gpudoctor.snapshot import Libcuda, Missing, Mps, Snapshot, Status

_MPS = {805, 806, 807, 808, 809, 810}
"""CUresult of the Multi-Process Service, CUDA_ERROR_MPS_*."""


@rule(
    "GD221",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    predicts=False,
    sees_more_at=Level.TOUCH,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def mps_misconfigured(libcuda: Libcuda | Missing, snapshot: Snapshot, mps: Mps | Missing, hardware: Hardware) -> Iterator[Problem]:
    """CUDA was told to use the Multi-Process Service, and that does not work.

    ## Why it matters
    With MPS, programs share a GPU through a daemon, which they find by pipes in CUDA_MPS_PIPE_DIRECTORY (/tmp/nvidia-mps by default).
    If the pipes are there and the daemon is not, belongs to another user, or is full, CUDA answers 805 to 810. If the variable names
    a folder without pipes, programs run without MPS, and nothing says so: that is a note.

    ## What to do
    Start the daemon with the same variable, or unset the variable and remove the stale folder.

    ## References
    - https://docs.nvidia.com/deploy/mps/
    """
    failed = _mps_failure(libcuda, snapshot)
    there = isinstance(mps, Mps)
    directory = mps.directory if isinstance(mps, Mps) else "/tmp/nvidia-mps"  # noqa: S108 -- CUDA's default
    control = "not known" if isinstance(mps, Missing) else "there" if mps.control else "not there"
    idle = isinstance(mps, Mps) and not mps.control and mps.where != "default"
    if not failed:
        loaded = need(libcuda, Rung.LIBCUDA)
        need(loaded.init, Rung.LIBCUDA)
        if not hardware or not idle:
            return
    yield Problem(
        severity=None if failed else Severity.NOTE,
        message=f"{failed}: the Multi-Process Service does not serve this program."
        if failed
        else f"CUDA_MPS_PIPE_DIRECTORY names {directory}, where no MPS daemon has its pipe: programs run without MPS.",
        evidence=(Evidence("the daemon's control pipe", control, f"{directory}/control"),)
        + ((Evidence("MPS folder", directory, mps.where),) if isinstance(mps, Mps) and there else ()),
        fixes=(
            Fix("Start the MPS daemon, as the user who computes", "nvidia-cuda-mps-control -d"),
            _without_mps(mps, directory),
        ),
    )


def _without_mps(mps: Mps | Missing, directory: str) -> Fix:
    """Programs look for a daemon where the variable says, else in the default folder, whose leftovers they take for one."""
    if isinstance(mps, Mps) and mps.where != "default":
        return Fix("Do without MPS", "unset CUDA_MPS_PIPE_DIRECTORY", kind=FixKind.INSTEAD)
    return Fix("Do without MPS: remove the leftovers of a daemon", f"sudo rm -r {shell_path(directory)}", (ROOT,), kind=FixKind.INSTEAD)


def _mps_failure(libcuda: Libcuda | Missing, snapshot: Snapshot) -> str:
    """The first answer that speaks of MPS; empty where none does."""
    if library.code(libcuda) in _MPS and isinstance(libcuda, Libcuda) and isinstance(libcuda.init, Status):
        return f"cuInit answers {libcuda.init.code} ({libcuda.init.name})"
    contexts = () if isinstance(snapshot.contexts, Missing) else snapshot.contexts
    calls = (call for context in contexts if (call := library.failed_call(context)))
    return next((f"{call.call} answers {call.status.code} ({call.status.name})" for call in calls if call.status.code in _MPS), "")
