"""What an all-reduce over several devices showed."""

from __future__ import annotations

import enum

from gpudoctor.derive.stages import stage_name
from gpudoctor.snapshot import AllReduce, Stage, StageKind, StageState


class Result(str, enum.Enum):
    """What became of it, as the end of "the all-reduce …"."""

    RIGHT = "was right"
    WRONG = "gave a wrong sum"
    HUNG = "hung"
    FAILED = "failed"
    UNKNOWN = "was not carried out"


_ENDS = {StageState.HUNG: Result.HUNG, StageState.FAILED: Result.FAILED, StageState.CRASHED: Result.FAILED}


def last(run: AllReduce) -> Stage | None:
    """The stage that it ended in."""
    return run.stages[-1] if run.stages else None


def result(run: AllReduce) -> Result:
    """UNKNOWN where the devices were not reached, or somebody stopped it."""
    stage = last(run)
    if stage is None or stage.kind != StageKind.ALL_REDUCE:
        return Result.UNKNOWN
    if stage.state is not StageState.DONE:
        return _ENDS.get(stage.state, Result.UNKNOWN)
    return Result.RIGHT if run.sums and all(one.error == 0 for one in run.sums) else Result.WRONG


def across_gpus(runs: tuple[AllReduce, ...]) -> bool:
    """Whether these runs, of one framework, were across GPUs."""
    return bool(runs) and runs[0].devices[0].startswith("GPU")


def detail(run: AllReduce) -> str:
    """How it ended in words: the reason that was given, or the devices and the error."""
    stage = last(run)
    if stage is not None and stage.state is not StageState.DONE:
        why = stage.error if isinstance(stage.error, str) else str(stage.state)
        return why if stage.kind == StageKind.ALL_REDUCE else f"{stage_name(stage)} {stage.state}: {why}"
    wrong = [f"{one.size} bytes on {', '.join(one.wrong)}: off by {one.error}" for one in run.sums if one.error != 0]
    return "; ".join(wrong) or f"right in {len(run.sums)} sizes"
