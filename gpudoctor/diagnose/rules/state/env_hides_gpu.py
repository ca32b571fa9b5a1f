from gpudoctor.derive import FrameworkView, not_applicable
from gpudoctor.diagnose.advice.system import unset_variable
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Evidence, Impact, Problem, Problems, Rung, Severity


@rule("GD704", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, impact=Impact.PARTLY)
@explains(TRAINING_FAILS, "The variable makes the framework train on the CPU.", Join.FRAMEWORK)
def env_hides_gpu(framework: FrameworkView) -> Problems:
    """Environment variable makes the framework use the CPU."""
    variables = framework.environment.variables
    values = variables.values
    if not framework.machine.hardware:
        not_applicable("there is no NVIDIA GPU")
    setting = next((setting for setting in framework.spec.hidden_by if setting.hides(values.get(setting.name, ""))), None)
    if setting is None:
        return
    value = values[setting.name]
    wholly = setting.hides_always(value)
    yield Problem(
        severity=None if wholly else Severity.WARNING,
        only_for=framework.name,
        message=f"{setting.name}={value} makes {framework.label} {'use' if wholly else 'prefer'} the CPU.",
        evidence=(Evidence(setting.name, value, variables.place(setting.name)),),
        fixes=(unset_variable(setting.name, framework.machine),),
    )
