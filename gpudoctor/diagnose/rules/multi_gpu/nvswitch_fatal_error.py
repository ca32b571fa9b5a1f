from gpudoctor.derive import MachineView, Site, require_known
from gpudoctor.diagnose.advice.kernel_log import line_excerpt
from gpudoctor.diagnose.advice.system import ask_administrator
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.findings import REBOOT, Action, Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import first_few
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import XidEvent

_FATAL, _ALWAYS_FATAL = "fatal", "always-fatal"
_SCOPE_TEXTS = {_FATAL: "fatal to one port and the GPU behind it", _ALWAYS_FATAL: "fatal to the whole fabric"}


@rule("GD840", severity=Severity.ERROR, breaks=Rung.TRAINED, impact=Impact.AT_RISK, predicts=False)
@explains(("nvlink-inactive", "all-reduce-failed"), "A fatal error stops traffic on a port or on the whole fabric.")
@explains(("gpu-errors-logged",), "The GPUs behind the switch log Xid 74 or 45.")
@explains(("cuda-init-fails", *TRAINING_FAILS), "CUDA may fail to start until switches and GPUs are reset.")
def nvswitch_fatal_error(machine: MachineView) -> Problems:
    """NVSwitch logged a fatal error (SXid)."""
    log = require_known(machine.observed.kernel_log, Rung.KERNEL_DRIVER)
    logged = [(event, _sxid_severity(event, machine.matrix)) for event in log.events if event.switch]
    fatal = [(event, severity) for event, severity in logged if severity in _SCOPE_TEXTS]
    if not fatal:
        return
    fatal.sort(key=lambda pair: pair[1] != _ALWAYS_FATAL)
    worst, severity = fatal[0]
    switches = sorted({event.address for event, _ in fatal if isinstance(event.address, str)})
    row = machine.matrix.sxid(worst.code)
    meaning = f" ({row.meaning})" if row else ""
    recovered = " All-reduce has worked since." if machine.has_all_reduced else ""
    yield Problem(
        message=f"NVSwitch {', '.join(switches) or 'at an unknown address'} logged SXid {worst.code}{meaning}, {_SCOPE_TEXTS[severity]}.{recovered}",
        severity=Severity.NOTE if recovered else None if severity == _ALWAYS_FATAL else Severity.WARNING,
        confidence=Confidence.CERTAIN if row else Confidence.LIKELY,
        evidence=tuple(Evidence(f"SXid {event.code}", line_excerpt(event.text), log.where) for event, _ in first_few(fatal)),
        fixes=_reset_gpus_and_switches(machine.site),
    )


def _sxid_severity(event: XidEvent, matrix: Matrix) -> str:
    """Return the severity from NVIDIA's list; for an unlisted code, from the driver's line ("Fatal," or "Non-fatal,")."""
    row = matrix.sxid(event.code)
    if row:
        return row.severity
    return _FATAL if event.text.lower().startswith("fatal,") else ""


def _reset_gpus_and_switches(site: Site) -> tuple[Fix, ...]:
    if site.container:
        return (ask_administrator("Ask the host's administrator to reset all GPUs and NVSwitches; a container cannot."),)
    return (
        Fix(
            "Stop all processes on the GPUs, then reset all GPUs and NVSwitches at once",
            "sudo nvidia-smi --gpu-reset",
            action=Action.RESET_GPU,
        ),
        Fix("Reboot", "sudo reboot", (REBOOT,), kind=FixKind.ELSE, action=Action.REBOOT),
    )
