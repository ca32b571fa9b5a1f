from gpudoctor import versions
from gpudoctor.derive import EnvironmentView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.preflight import CheckedCondition, Fulfilment
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.python.requirements import another_machine, answers_for, end_if_unknown, required_but
from gpudoctor.findings import Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.preflight import FEATURES, FRAMEWORKS, Condition
from gpudoctor.versions import Version


@rule("GD602", severity=Severity.ERROR, breaks=Rung.TRAINED, predicts=False, checks_required="any")
def requirement_not_met(environment: EnvironmentView) -> Problems:
    """Requirement of --require is not met."""
    answers = answers_for(environment)
    for answer in answers:
        if answer.answer is Fulfilment.UNFIT and answer.requirement.subject not in FEATURES:
            yield Problem(
                message=f"{required_but(answer)}.",
                title=required_but(answer),
                evidence=(Evidence(answer.requirement.subject, answer.seen, answer.where),),
                fixes=_meet(answer, environment),
                domain=_domain(answer.requirement),
            )
    end_if_unknown(answers)


def _meet(answer: CheckedCondition, environment: EnvironmentView) -> tuple[Fix, ...]:
    requirement, machine = answer.requirement, environment.machine
    if requirement.subject == "driver":
        title = f"Install an NVIDIA driver {requirement.specifier}"
        return (update_driver(machine, _floor(requirement.specifier), title=title),)
    if requirement.subject in FRAMEWORKS:
        return install_framework(machine, requirement.subject, accepts=requirement.specifier)
    return (another_machine(answer),)


def _domain(requirement: Condition) -> Domain:
    if requirement.subject == "driver":
        return Domain.DRIVER
    return Domain.ENVIRONMENT if requirement.subject in FRAMEWORKS else Domain.HARDWARE


def _floor(specifier: str) -> Version | None:
    """Return the oldest driver that a specifier such as ">=560" allows; None if it names none."""
    bound = next((clause for clause in specifier.split(",") if clause.startswith((">=", "==", "~=", ">"))), "")
    return versions.parse(bound.lstrip("<>=~ "))
