from gpudoctor import versions
from gpudoctor.conditions import FEATURES, FRAMEWORKS, Condition
from gpudoctor.derive import EnvironmentView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.required_conditions import CheckedCondition, Fulfilment
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.python.requirements import applicable_conditions, end_if_unknown, requirement_clause, use_another_machine
from gpudoctor.findings import Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.versions import Version


@rule("GD602", severity=Severity.ERROR, breaks=Rung.TRAINED, predicts=False, checks_required="any")
def requirement_not_met(environment: EnvironmentView) -> Problems:
    """Requirement of --require is not met."""
    answers = applicable_conditions(environment)
    for answer in answers:
        if answer.answer is Fulfilment.UNFIT and answer.requirement.subject not in FEATURES:
            yield Problem(
                message=f"{requirement_clause(answer)}.",
                title=requirement_clause(answer),
                evidence=(Evidence(answer.requirement.subject, answer.seen, answer.where),),
                fixes=_fixes_for_requirement(answer, environment),
                domain=_requirement_domain(answer.requirement),
            )
    end_if_unknown(answers)


def _fixes_for_requirement(answer: CheckedCondition, environment: EnvironmentView) -> tuple[Fix, ...]:
    requirement, machine = answer.requirement, environment.machine
    if requirement.subject == "driver":
        title = f"Install an NVIDIA driver {requirement.specifier}"
        return (update_driver(machine, _oldest_driver(requirement.specifier), title=title),)
    if requirement.subject in FRAMEWORKS:
        return install_framework(machine, requirement.subject, accepts=requirement.specifier)
    return (use_another_machine(answer),)


def _requirement_domain(requirement: Condition) -> Domain:
    if requirement.subject == "driver":
        return Domain.DRIVER
    return Domain.ENVIRONMENT if requirement.subject in FRAMEWORKS else Domain.HARDWARE


def _oldest_driver(specifier: str) -> Version | None:
    """Return the oldest driver that a specifier such as ">=560" allows; None if it names none."""
    bound = next((clause for clause in specifier.split(",") if clause.startswith((">=", "==", "~=", ">"))), "")
    return versions.parse_version(bound.lstrip("<>=~ "))
