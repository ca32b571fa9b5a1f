from gpudoctor.derive import MachineView, not_applicable
from gpudoctor.derive.preallocation import preallocated_memory
from gpudoctor.diagnose.advice.hardware import GIB
from gpudoctor.diagnose.advice.system import set_variable
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Confidence, Evidence, Impact, Problem, Problems, Rung, Severity
from gpudoctor.signatures import recognised_signatures
from gpudoctor.snapshot import TEXT


@rule("GD743", severity=Severity.NOTE, breaks=Rung.TRAINED, impact=Impact.PARTLY, predicts=False)
def gpu_memory_preallocation(machine: MachineView) -> Problems:
    """Framework takes most GPU memory when it starts."""
    if machine.observed.origin != TEXT:
        not_applicable("gpudoctor lists which processes hold the memory")
    found = preallocated_memory(machine)
    if found is None:
        return
    starved = _is_library_starved(machine)
    yield Problem(
        message=f"{found.used / GIB:.1f} of {found.total / GIB:.1f} GiB are in use: {found.spec.title} takes most GPU memory at its start, by design.",
        severity=Severity.WARNING if starved else None,
        confidence=Confidence.LIKELY if starved else Confidence.POSSIBLE,
        evidence=(Evidence("memory in use", f"{found.used / GIB:.1f} of {found.total / GIB:.1f} GiB", "nvidia-smi"),),
        fixes=(set_variable(found.variable, found.value, "Let it take memory as it needs it, if another program needs some"),),
    )


def _is_library_starved(machine: MachineView) -> bool:
    """Return whether a library says that it found no memory, as it does if the framework holds all of it."""
    return any(sign.signature.causes[0] == gpu_memory_preallocation.name for sign in recognised_signatures(machine.log.text))
