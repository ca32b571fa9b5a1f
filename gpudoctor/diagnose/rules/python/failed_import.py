"""How the import of a framework failed in its smoke training."""

import msgspec

from gpudoctor.derive import FrameworkView
from gpudoctor.signatures import recognised_signatures
from gpudoctor.snapshot import Stage, StageKind, StageState


class FailedImport(msgspec.Struct, frozen=True):
    """An import that failed."""

    stage: Stage
    error: str
    causes: frozenset[str]
    """The causes that its error and output are known to have."""


def failed_import(framework: FrameworkView) -> FailedImport | None:
    """Return how the import failed; None if it did not raise an error: a process that was killed says nothing about the package."""
    for stage in framework.smoke.stages:
        if stage.kind == StageKind.IMPORT and stage.state == StageState.FAILED:
            error = stage.error.rstrip(".") if isinstance(stage.error, str) else "no reason given"
            output = framework.smoke.output if isinstance(framework.smoke.output, str) else ""
            signs = recognised_signatures(f"{error}\n{output}")
            return FailedImport(
                stage, error, frozenset(cause for sign in signs if not sign.signature.vague for cause in sign.signature.causes)
            )
    return None
