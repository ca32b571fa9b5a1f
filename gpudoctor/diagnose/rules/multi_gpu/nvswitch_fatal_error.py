"""GD840: nvswitch-fatal-error."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.derive.all_reduce import Result, result
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.rule import Explains, need, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import KernelLog, Missing, Snapshot, XidEvent

_FATAL, _ALWAYS = "fatal", "always-fatal"


_WORD = "fatal,"
"""How the driver's own line begins after the code, in lower case; it says "Non-fatal," of the others."""


def _severity(event: XidEvent, matrix: Matrix) -> str:
    """NVIDIA's list decides; of a code that it does not name, the driver's own word."""
    row = matrix.sxid(event.code)
    return row.severity if row else _FATAL if event.text.lower().startswith(_WORD) else ""


def _summed(snapshot: Snapshot) -> bool:
    """Whether GPUs were seen to sum over their links, after all this."""
    smokes = () if isinstance(snapshot.smoke, Missing) else snapshot.smoke
    return any(result(run) is Result.RIGHT for one in smokes if not isinstance(one.all_reduces, Missing) for run in one.all_reduces)


@rule(
    "GD840",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "nvlink-inactive",
                "cuda-init-fails",
                "all-reduce-failed",
                "gpu-errors-logged",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def nvswitch_fatal_error(log: KernelLog | Missing, matrix: Matrix, snapshot: Snapshot, site: Site) -> Iterator[Problem]:
    """An NVSwitch had a fatal error (SXid) since the boot.

    ## Why it matters
    A fatal error stops the traffic of a port, and what computed over it is ended (Xid 74 or 45 of its GPUs). Some are always fatal to the
    whole fabric: until switches and GPUs are reset, no training over several GPUs comes through, and CUDA may not start.

    ## What to do
    Stop what runs on the GPUs. Reset all GPUs and switches at once, or reboot. If the error comes back, NVIDIA replaces the board.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    """
    log = need(log, Rung.KERNEL_DRIVER)
    fatal = [(event, severity) for event in log.events if event.switch and (severity := _severity(event, matrix)) in {_FATAL, _ALWAYS}]
    if not fatal:
        return
    fatal.sort(key=lambda one: one[1] != _ALWAYS)
    (worst, severity), places = fatal[0], sorted({str(event.address) for event, _ in fatal if isinstance(event.address, str)})
    row = matrix.sxid(worst.code)
    meaning = f" ({row.meaning})" if row else ""
    scope = "fatal to the whole fabric" if severity == _ALWAYS else "fatal to a port of the switch and the GPU behind it"
    past = _summed(snapshot)
    yield Problem(
        message=f"NVSwitch {', '.join(places) or 'of unknown address'}: the driver logged SXid {worst.code}{meaning}, {scope}."
        + (" GPUs have summed over their links since." if past else ""),
        severity=Severity.NOTE if past else None if severity == _ALWAYS else Severity.WARNING,
        confidence=Confidence.CERTAIN if row else Confidence.LIKELY,
        evidence=tuple(Evidence(f"SXid {event.code}", event.text[:120], log.where) for event, _ in fatal[:3]),
        fixes=_renewed(site),
    )


def _renewed(site: Site) -> tuple[Fix, ...]:
    if site.container:
        return (Fix("Have the host's administrator reset all GPUs and NVSwitches; a container cannot."),)
    return (
        Fix(
            "Stop what uses the GPUs, then reset all GPUs and NVSwitches at once",
            "sudo nvidia-smi --gpu-reset",
            (ROOT,),
        ),
        Fix("Reboot", "sudo reboot", (ROOT, REBOOT), kind=FixKind.ELSE),
    )
