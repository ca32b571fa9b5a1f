"""GD6: what the user requires with `--require` and this machine or environment does not give."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Site, Visibility
from gpudoctor.derive.visibility import VARIABLE
from gpudoctor.diagnose.driver_fixes import install_driver, least_of
from gpudoctor.diagnose.fixes import unset
from gpudoctor.diagnose.installing import install_framework
from gpudoctor.diagnose.requirements import Answer, Judged, judged
from gpudoctor.diagnose.rule import CouldNotTell, not_applicable, rule
from gpudoctor.diagnose.verdict import required
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.requirements import FEATURES, FRAMEWORKS
from gpudoctor.snapshot import Missing


@rule("GD602", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False)
def requirement_not_met(machine: MachineView) -> Iterator[Problem]:
    """A version, number or size is not the one that was required.

    ## Why it matters
    It was asked for with `--require`, on the command line or in a configuration file: the work that is to run here needs it, whatever
    else this machine can do. Versions are compared as Python's packaging does. `driver` is the loaded driver's version, `gpus` counts
    the GPUs that were shown to be usable as far as `--level` asks, `memory` and `cc` (compute capability) hold for every GPU that the
    environment leaves, and a framework is meant by its distribution's version. Of `bf16` the rule gpu-lacks-bf16 says that it is not met.

    A size needs its unit. The 80 GB of a product's name are decimal, and less than 80 GiB: write `memory>=80GB` for such a card.

    ## What to do
    Install what is required where that is a matter of software; else run on a machine that has it, or ask for less.

    ## References
    - https://packaging.python.org/en/latest/specifications/version-specifiers/
    """
    answers = _asked(machine)
    for one in answers:
        if one.answer is Answer.UNFIT and one.requirement.subject not in FEATURES:
            yield Problem(
                message=f"{_title(one)}.",
                title=_title(one),
                evidence=(Evidence(one.requirement.subject, one.seen, one.where),),
                fixes=_fixes(one, machine),
            )
    _admit(answers)


def _title(one: Judged) -> str:
    return f"{one.requirement.text} is required; {one.seen}"


def _asked(machine: MachineView) -> tuple[Judged, ...]:
    """Every requirement judged; ends the rule where there is none."""
    return judged(machine, required(machine.policy)) or not_applicable("nothing is required")


def _admit(answers: tuple[Judged, ...]) -> None:
    """What could not be observed is not met."""
    for one in answers:
        if one.missing is not None:
            raise CouldNotTell(Missing(one.missing.cause, f"{one.requirement.text}: {one.missing.reason}"), one.rung)


def _fixes(one: Judged, machine: MachineView) -> tuple[Fix, ...]:
    wanted = one.requirement
    if wanted.subject == "driver":
        return (install_driver(machine, least_of(wanted.specifier), what=f"Install an NVIDIA driver {wanted.specifier}"),)
    if wanted.subject in FRAMEWORKS:
        return install_framework(machine, wanted.subject, accepts=wanted.specifier)
    return (Fix(f"Run on a machine with {wanted.text}, or require less."),)


@rule("GD603", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False)
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


RULES = (requirement_not_met, required_gpus_missing)
