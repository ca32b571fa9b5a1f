"""What the rules on a framework's build and its libraries share: which GPUs they are about, and which other release would do."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive import EffectiveCuda, Meetings
from gpudoctor.derive.code import LACKS, Fit, Meeting
from gpudoctor.diagnose.rule import need, not_applicable
from gpudoctor.findings import Rung
from gpudoctor.snapshot import Cause, Framework, Missing, NvmlGpu


def with_cuda(effective: EffectiveCuda | Missing) -> EffectiveCuda:
    """The CUDA of a build; ends the rule for one without, and where it is not known."""
    if isinstance(effective, Missing) and effective.cause is Cause.ABSENT:
        not_applicable(effective.reason)
    return need(effective)


def met(meetings: Meetings | Missing) -> Meetings:
    """How a build meets the GPUs; ends the rule where it has no CUDA or there is no GPU that it could use."""
    if isinstance(meetings, Missing) and meetings.cause is Cause.ABSENT:
        not_applicable(meetings.reason)
    found = need(meetings)
    if not found:
        not_applicable("there is no GPU that its programs may use")
    return found


def tell(meetings: Meetings, framework: Framework) -> None:
    """Ends the rule where it is not known of some GPU whether the code runs on it."""
    for one in meetings:
        if one.fit is Fit.UNKNOWN:
            tell_generation(one)
        if one.fit is Fit.UNKNOWN:
            need(Missing(Cause.NOT_STATED, f"whether {framework.label} holds code for {one.gpu.label} is not known"))


def tell_generation(meeting: Meeting) -> None:
    """Ends the rule where the GPU's compute capability is not known."""
    if meeting.capability is None:
        gpu = meeting.gpu
        lacking = gpu.nvml.compute_capability if isinstance(gpu.nvml, NvmlGpu) else gpu.nvml
        need(lacking if isinstance(lacking, Missing) else Missing(Cause.FAILED, f"{gpu.label}: {lacking}"), Rung.NVML)


def remains(meetings: Meetings, lost: Iterable[Meeting]) -> bool:
    """Whether a GPU is left that is not among the lost ones and not known to be lost otherwise."""
    gone = {one.gpu.key for one in lost}
    return any(one.gpu.key not in gone and one.fit not in LACKS for one in meetings)
