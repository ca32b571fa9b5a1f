"""Names of the stages of smoke training."""

from __future__ import annotations

from gpudoctor.snapshot import Stage, StageKind

_STAGE_NAMES: dict[str, str] = {StageKind.PRODUCTS: "matmul"}


def work_text(kind: str, network: str) -> str:
    """What a stage does: "training", "convolutional training"; the dense network is not mentioned."""
    name = _STAGE_NAMES.get(kind, kind)
    return f"{network} {name}" if network not in {"", "dense"} else name


def stage_name(stage: Stage) -> str:
    """A stage for a person: "convolutional training on GPU:0"."""
    name = work_text(stage.kind, stage.network)
    return f"{name} on {stage.device}" if stage.device else name
