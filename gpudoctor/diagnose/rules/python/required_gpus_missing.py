from gpudoctor.conditions import FRAMEWORKS
from gpudoctor.derive import EnvironmentView, MachineView, Visibility
from gpudoctor.derive.visibility import MASK_VARIABLE
from gpudoctor.diagnose.advice.system import unset_variable
from gpudoctor.diagnose.required_conditions import Fulfilment
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.python.requirements import applicable_conditions, end_if_unknown, requirement_clause, use_another_machine
from gpudoctor.findings import Action, Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity

_COUNT_GPUS = Fix("List the GPUs and the stage that each one reaches", "gpudoctor check --no-smoke", kind=FixKind.CHECK)


@rule("GD603", severity=Severity.ERROR, breaks=Rung.TRAINED, domain=Domain.HARDWARE, predicts=False, checks_required="any")
def required_gpus_missing(environment: EnvironmentView) -> Problems:
    """Required GPUs or their driver are missing or unusable."""
    answers = applicable_conditions(environment)
    for answer in answers:
        if answer.answer is Fulfilment.LACKING and answer.requirement.subject not in FRAMEWORKS:
            requirement, get_gpus = answer.requirement, _make_gpus_available(environment.machine)
            yield Problem(
                message=f"{requirement_clause(answer)}.",
                title=requirement_clause(answer),
                evidence=(Evidence(requirement.subject, answer.seen, answer.where),),
                fixes=(get_gpus, use_another_machine(answer, FixKind.INSTEAD)),
                domain=None if get_gpus is _COUNT_GPUS else Domain.JOB,
            )
    end_if_unknown(answers)


def _make_gpus_available(machine: MachineView) -> Fix:
    """Return the fix that makes more GPUs available to this environment."""
    if machine.site.scheduler:
        return Fix(f"Request as many GPUs from {machine.site.scheduler} when submitting the job.", action=Action.RESTART_JOB)
    visibility = machine.visibility_or_missing
    hidden = isinstance(visibility, Visibility) and visibility.shown < visibility.total
    return unset_variable(MASK_VARIABLE, machine) if hidden else _COUNT_GPUS
