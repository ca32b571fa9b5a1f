"""GD602: requirement-not-met."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.preflight import Answer, Judged
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.python.requirements import _admit, _asked, _title
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.preflight import FEATURES, FRAMEWORKS
from gpudoctor.versions import Version


@rule(
    "GD602", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False, checks_required="any"
)
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


def _fixes(one: Judged, machine: MachineView) -> tuple[Fix, ...]:
    wanted = one.requirement
    if wanted.subject == "driver":
        return (update_driver(machine, _floor(wanted.specifier), title=f"Install an NVIDIA driver {wanted.specifier}"),)
    if wanted.subject in FRAMEWORKS:
        return install_framework(machine, wanted.subject, accepts=wanted.specifier)
    return (Fix(f"Run on a machine with {wanted.text}, or require less."),)


def _floor(specifier: str) -> Version | None:
    """The oldest driver that a specifier such as ">=560" allows; None where it names none."""
    lower = next((part for part in specifier.split(",") if part.startswith((">=", "==", "~=", ">"))), "")
    return versions.parse(lower.lstrip("<>=~ "))
