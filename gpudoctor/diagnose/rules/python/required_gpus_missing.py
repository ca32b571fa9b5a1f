"""GD603: required-gpus-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Site, Visibility
from gpudoctor.derive.visibility import VARIABLE
from gpudoctor.diagnose.advice.system import unset
from gpudoctor.diagnose.preflight import Answer
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.python.requirements import _admit, _asked, _title
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.preflight import FRAMEWORKS
from gpudoctor.snapshot import Missing


@rule(
    "GD603", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False, checks_required="any"
)
def required_gpus_missing(machine: MachineView) -> Iterator[Problem]:
    """GPUs, or the driver for them, are required and are not there or cannot be used.

    ## Why it matters
    `--require` asked for a number of usable GPUs, or for something that only a GPU or its driver can have. Some of the machine's GPUs
    got lost on the way, are hidden from this environment, or were never there.

    ## What to do
    Another finding most often says what the GPUs are lost to, and this one is then shown beneath it. The ladder shows the rung on which
    each GPU was lost. Where they are only hidden, look at CUDA_VISIBLE_DEVICES and at what the scheduler allotted.

    ## References
    - https://docs.nvidia.com/deploy/nvidia-smi/index.html
    """
    answers = _asked(machine)
    for one in answers:
        if one.answer is Answer.LACKING and one.requirement.subject not in FRAMEWORKS:
            yield Problem(
                message=f"{_title(one)}.",
                title=_title(one),
                evidence=(Evidence(one.requirement.subject, one.seen, one.where),),
                fixes=(
                    *_more_gpus(machine.site, machine.visibility_or_missing),
                    Fix(f"Run on a machine with {one.requirement.text}, or require less.", kind=FixKind.INSTEAD),
                ),
            )
    _admit(answers)


def _more_gpus(site: Site, visibility: Visibility | Missing | None) -> tuple[Fix, ...]:
    """How this environment comes to more GPUs, where that is known."""
    if site.scheduler:
        return (Fix(f"Ask {site.scheduler} for as many GPUs when the job is submitted."),)
    if isinstance(visibility, Visibility) and visibility.shown < visibility.there:
        return (unset(VARIABLE),)
    return (Fix("See which GPUs the machine has, and which of them work", "gpudoctor check --no-smoke", kind=FixKind.CHECK),)
