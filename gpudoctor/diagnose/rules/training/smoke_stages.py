"""Stages of a smoke training that failed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.stages import stage_name
from gpudoctor.diagnose.advice.installing import another_release
from gpudoctor.diagnose.advice.system import read_log
from gpudoctor.diagnose.rules.training.framework_output import read_output
from gpudoctor.findings import Evidence, Fix, Problem, Severity
from gpudoctor.snapshot import Stage, StageKind, StageState

_MEASURING = (StageKind.COPIES, StageKind.MEMORY, StageKind.PRODUCTS, StageKind.COMPILED_STEP, StageKind.SPEED)
"""Stages that only measure; training had passed before them."""


def stages_that(framework: FrameworkView, states: set[StageState]) -> Iterator[Problem]:
    """Return a problem for each stage that ended in one of these states."""
    for stage in framework.smoke.stages:
        if stage.state in states:
            error = stage.error if isinstance(stage.error, str) else "no reason given"
            output = read_output(framework.smoke, error)
            name = stage_name(stage)
            yield Problem(
                message=f"{framework.label}: stage “{name}” {stage.state}: {error.rstrip('.')}.{output.hint}",
                severity=Severity.WARNING if stage.kind in _MEASURING else None,
                evidence=(Evidence("stage", name, framework.name), *output.evidence),
                fixes=(*_driver_log(stage), *output.checks, another_release(framework.machine, framework.name)),
            )


def _driver_log(stage: Stage) -> tuple[Fix, ...]:
    """Return the check of the kernel log; empty unless the stage hung on a GPU, which is often the driver's or the GPU's fault."""
    return (read_log(),) if stage.state is StageState.HUNG and stage.device.startswith("GPU") else ()
