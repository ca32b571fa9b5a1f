from gpudoctor.derive import FrameworkView
from gpudoctor.diagnose.advice.system import unset_variable
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.findings import Evidence, Problem, Problems, Rung, Severity


@rule("GD657", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, on_cpu_too=True)
@explains(TRAINING_FAILS, "The framework cannot be imported.", Join.FRAMEWORK)
def variable_stops_import(framework: FrameworkView) -> Problems:
    """Environment variable stops the framework's import."""
    for variable in framework.refused_variables:
        yield Problem(
            message=f"{variable.name}={variable.value} stops `import {framework.name}`: {variable.why}.",
            only_for=framework.name,
            evidence=(Evidence(variable.name, variable.value, framework.environment.variables.place(variable.name)),),
            fixes=(unset_variable(variable.name, framework.machine),),
        )
