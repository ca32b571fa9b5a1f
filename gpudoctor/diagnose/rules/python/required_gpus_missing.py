from gpudoctor.derive import EnvironmentView, MachineView, Visibility
from gpudoctor.derive.visibility import VARIABLE
from gpudoctor.diagnose.advice.system import unset
from gpudoctor.diagnose.preflight import Fulfilment
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.python.requirements import another_machine, answers_for, end_if_unknown, required_but
from gpudoctor.findings import Action, Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.preflight import FRAMEWORKS

_COUNT = Fix("List the GPUs and the stage that each one reaches", "gpudoctor check --no-smoke", kind=FixKind.CHECK)


@rule("GD603", severity=Severity.ERROR, breaks=Rung.TRAINED, domain=Domain.HARDWARE, predicts=False, checks_required="any")
def required_gpus_missing(environment: EnvironmentView) -> Problems:
    """Required GPUs or their driver are missing or unusable."""
    answers = answers_for(environment)
    for answer in answers:
        if answer.answer is Fulfilment.LACKING and answer.requirement.subject not in FRAMEWORKS:
            requirement, get_gpus = answer.requirement, _get_gpus(environment.machine)
            yield Problem(
                message=f"{required_but(answer)}.",
                title=required_but(answer),
                evidence=(Evidence(requirement.subject, answer.seen, answer.where),),
                fixes=(get_gpus, another_machine(answer, FixKind.INSTEAD)),
                domain=None if get_gpus is _COUNT else Domain.JOB,
            )
    end_if_unknown(answers)


def _get_gpus(machine: MachineView) -> Fix:
    """Return the fix that makes more GPUs available to this environment."""
    if machine.site.scheduler:
        return Fix(f"Request as many GPUs from {machine.site.scheduler} when submitting the job.", action=Action.RESTART_JOB)
    visibility = machine.visibility_or_missing
    hidden = isinstance(visibility, Visibility) and visibility.shown < visibility.there
    return unset(VARIABLE, machine) if hidden else _COUNT
