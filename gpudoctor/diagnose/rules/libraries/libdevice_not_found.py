from gpudoctor.derive import FrameworkView
from gpudoctor.derive.libraries import is_lost
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.libraries.xla import point_to_file, search_evidence, xla_severity
from gpudoctor.findings import Problem, Problems, Rung, Severity


@rule("GD412", severity=Severity.ERROR, breaks=Rung.TRAINED)
@explains(("ptxas-not-found",), "The package that contains libdevice contains ptxas too.", Join.FRAMEWORK)
@explains(TRAINING_FAILS, "XLA cannot compile exp, tanh or pow without libdevice.", Join.FRAMEWORK)
def libdevice_not_found(framework: FrameworkView) -> Problems:
    """XLA cannot find libdevice.10.bc."""
    use = framework.xla_file("libdevice")
    if is_lost(use):
        yield Problem(
            message=f"XLA in {framework.label} cannot find libdevice.10.bc, so code with exp, tanh or pow does not compile.",
            severity=xla_severity(framework),
            only_for=framework.name,
            evidence=search_evidence(use),
            fixes=point_to_file(framework, use),
        )
