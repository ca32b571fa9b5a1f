from collections.abc import Iterator

import msgspec

from gpudoctor.derive import FrameworkView, not_applicable, require_known
from gpudoctor.derive.gpu_code import Fit
from gpudoctor.derive.stages import stage_name
from gpudoctor.diagnose.advice.gpu_code import capability_evidence, model_names, models_text
from gpudoctor.diagnose.advice.system import WITHOUT_COMPILE
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.findings import Evidence, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.signatures import recognised_signatures
from gpudoctor.snapshot import Missing, StageState


@rule("GD517", severity=Severity.NOTE, breaks=Rung.TRAINED, impact=Impact.PARTLY, predicts=False)
@explains(("smoke-crashed",), "A compiled training step fails because Triton refuses the GPU.", Join.FRAMEWORK)
@explains(
    ("triton-ptxas-too-old", "c-compiler-missing", "python-headers-missing"),
    "Triton needs these only for GPUs that it supports.",
    Join.FRAMEWORK,
)
def gpu_too_old_for_triton(framework: FrameworkView) -> Problems:
    """torch.compile does not support this GPU."""
    oldest = framework.machine.matrix.bound("triton", "oldest-capability")
    if oldest is None or not framework.has_reached("compiles-kernels"):
        not_applicable(f"{framework.label} has no torch.compile")
    used = [meeting for meeting in framework.gpu_fits if meeting.fit is not Fit.TOO_OLD]  # gpu-too-old-for-build covers those
    old = [meeting for meeting in used if meeting.capability is not None and meeting.capability < oldest]
    if old:
        refused = tuple(_refused_step_evidence(framework))
        yield Problem(
            message=f"torch.compile in {framework.label} does not support {models_text(old)}; it needs compute capability {oldest.short} or newer.",
            title=f"torch.compile does not support {model_names(old)}",
            severity=Severity.WARNING if refused else None,
            evidence=(*capability_evidence(old), *refused),
            fixes=(msgspec.structs.replace(WITHOUT_COMPILE, kind=FixKind.FIX),),
        )
    for meeting in used:
        require_known(meeting.capability_or_missing, Rung.NVML)


def _refused_step_evidence(framework: FrameworkView) -> Iterator[Evidence]:
    """Return the compiled steps that failed with this error; nothing if a stage failed for another reason."""
    smoke = framework.smoke_or_missing
    failed = [] if isinstance(smoke, Missing) else [stage for stage in smoke.stages if stage.state is not StageState.DONE]
    found = []
    for stage in failed:
        recognised = recognised_signatures(stage.error if isinstance(stage.error, str) else "")
        if not recognised or recognised[0].signature.causes != (gpu_too_old_for_triton.name,):
            return
        found.append(Evidence(stage_name(stage), recognised[0].line, f"{framework.spec.title}'s error"))
    yield from found
