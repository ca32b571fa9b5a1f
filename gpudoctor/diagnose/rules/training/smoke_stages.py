"""Stages of a smoke training that failed."""

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.stages import stage_name
from gpudoctor.diagnose.rules.training.framework_output import read_output
from gpudoctor.diagnose.rules.training.ways_out import stage_remedy
from gpudoctor.findings import Evidence, Problem, Problems, Severity
from gpudoctor.snapshot import StageKind, StageState

_MEASURING_STAGES = (StageKind.COPIES, StageKind.MEMORY, StageKind.PRODUCTS, StageKind.COMPILED_STEP, StageKind.SPEED)
"""Stages that only measure; training had passed before them."""


def failed_stage_problems(framework: FrameworkView, states: set[StageState]) -> Problems:
    """Return a problem for each stage that ended in one of these states."""
    for stage in framework.smoke.stages:
        if stage.state in states:
            error = stage.error if isinstance(stage.error, str) else "no reason given"
            output = read_output(framework, error)
            name = stage_name(stage)
            way = stage_remedy(framework, stage, output)
            yield Problem(
                message=f"{framework.label}: stage “{name}” {stage.state}: {error.rstrip('.')}.{output.hint}",
                severity=Severity.WARNING if stage.kind in _MEASURING_STAGES else None,
                evidence=(Evidence("stage", name, framework.name), *output.evidence),
                fixes=(*way.checks, *output.checks, *way.fixes),
                domain=way.domain,
            )
