from gpudoctor.derive import FrameworkView, not_applicable
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.requirements import (
    accepted_requirement,
    distribution_evidence,
    requirement_evidence,
    unmet_requirements_text,
    violations_for,
)
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Problem, Problems, Rung, Severity


@rule("GD607", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, on_cpu_too=True)
@explains(TRAINING_FAILS, "The import of tf.keras fails.", Join.FRAMEWORK)
def keras3_mismatch(framework: FrameworkView) -> Problems:
    """TensorFlow and Keras have incompatible versions (Keras 2 and 3)."""
    stack, part = framework.environment.stack, framework.spec.rewritten
    if part is None or part.distribution not in stack.distributions:
        not_applicable("Keras is not installed")
    violations = violations_for(keras3_mismatch.name, framework)
    if not violations:
        return
    has_legacy_keras = not stack.supposed and violations[0].older and part.former in stack.distributions
    title = f"Install the Keras that {violations[0].demand.by.label} requires"
    yield Problem(
        message=unmet_requirements_text(violations, stack),
        severity=Severity.WARNING if has_legacy_keras else None,
        evidence=(distribution_evidence(violations[0].found), *requirement_evidence(violations)),
        fixes=(install_fix(title, framework.environment.observed.python, accepted_requirement(violations)),),
    )
