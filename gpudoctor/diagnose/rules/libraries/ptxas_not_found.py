from gpudoctor.derive import FrameworkView
from gpudoctor.derive.libraries import is_lost
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.libraries.xla import point_to_file, search_evidence, xla_severity
from gpudoctor.findings import Confidence, Fix, FixKind, Problem, Problems, Rung, Severity

_DRIVER_FALLBACK = "--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found"


@rule("GD413", severity=Severity.ERROR, breaks=Rung.TRAINED)
@explains(TRAINING_FAILS, "XLA cannot compile for the GPU without ptxas.", Join.FRAMEWORK)
def ptxas_not_found(framework: FrameworkView) -> Problems:
    """XLA cannot find ptxas."""
    use = framework.xla_assembler
    flags = framework.machine.variable("XLA_FLAGS").split()
    if not is_lost(use) or _DRIVER_FALLBACK in flags or f"{_DRIVER_FALLBACK}=true" in flags:
        return
    perhaps = framework.is_bounded("may-carry-assembler") and not framework.is_before("may-carry-assembler")
    consequence = " and may need it: older plugins have no built-in compiler" if perhaps else ", so it cannot compile for the GPU"
    let_driver = f'export XLA_FLAGS="$XLA_FLAGS {_DRIVER_FALLBACK}=true"'
    yield Problem(
        message=f"XLA in {framework.label} cannot find ptxas{consequence}.",
        severity=Severity.NOTE if perhaps else xla_severity(framework),
        only_for=framework.name,
        confidence=Confidence.POSSIBLE if perhaps else Confidence.LIKELY,
        evidence=search_evidence(use),
        fixes=(
            *point_to_file(framework, use),
            Fix("Let the driver compile; this uses more memory", let_driver, kind=FixKind.INSTEAD),
        ),
    )
