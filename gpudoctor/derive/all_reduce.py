"""The result of an all-reduce over several devices."""

from __future__ import annotations

import enum

from gpudoctor.derive.stages import stage_name
from gpudoctor.snapshot import AllReduce, Stage, StageKind, StageState


class Result(str, enum.Enum):
    """The result, as the end of "the all-reduce …"."""

    RIGHT = "returned correct results"
    WRONG = "returned wrong results"
    HUNG = "hung"
    FAILED = "failed"
    UNKNOWN = "did not run"


_ENDS = {StageState.HUNG: Result.HUNG, StageState.FAILED: Result.FAILED, StageState.CRASHED: Result.FAILED}


def last(run: AllReduce) -> Stage | None:
    """The last stage it reached."""
    return run.stages[-1] if run.stages else None


def result(run: AllReduce) -> Result:
    """UNKNOWN if the devices were not connected, or somebody stopped it."""
    stage = last(run)
    if stage is None or stage.kind != StageKind.ALL_REDUCE:
        return Result.UNKNOWN
    if stage.state is not StageState.DONE:
        return _ENDS.get(stage.state, Result.UNKNOWN)
    return Result.RIGHT if run.sums and all(total.error == 0 for total in run.sums) else Result.WRONG


def across_gpus(runs: tuple[AllReduce, ...]) -> bool:
    """Whether these runs of one framework were across GPUs."""
    return bool(runs) and runs[0].devices[0].startswith("GPU")


def detail(run: AllReduce) -> str:
    """How it ended: the given reason, or the devices and the error."""
    stage = last(run)
    if stage is not None and stage.state is not StageState.DONE:
        why = stage.error if isinstance(stage.error, str) else str(stage.state)
        return why if stage.kind == StageKind.ALL_REDUCE else f"{stage_name(stage)} {stage.state}: {why}"
    wrong = [f"{_size(total.size)} on {', '.join(total.wrong)}: off by {total.error}" for total in run.sums if total.error != 0]
    return "; ".join(wrong) or f"right in {len(run.sums)} sizes"


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count / 1024:g} KiB"
