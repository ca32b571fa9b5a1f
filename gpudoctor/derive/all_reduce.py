"""The result of an all-reduce over several devices."""

from __future__ import annotations

import enum

from gpudoctor.derive.stages import stage_name
from gpudoctor.snapshot import AllReduce, Stage, StageKind, StageState


class AllReduceResult(str, enum.Enum):
    """The result, as the end of "the all-reduce …"."""

    RIGHT = "returned correct results"
    WRONG = "returned wrong results"
    HUNG = "hung"
    FAILED = "failed"
    UNKNOWN = "did not run"


_RESULTS_BY_STATE = {
    StageState.HUNG: AllReduceResult.HUNG,
    StageState.FAILED: AllReduceResult.FAILED,
    StageState.CRASHED: AllReduceResult.FAILED,
}


def last_stage(run: AllReduce) -> Stage | None:
    """The last stage it reached."""
    return run.stages[-1] if run.stages else None


def all_reduce_result(run: AllReduce) -> AllReduceResult:
    """UNKNOWN if the devices were not connected, or somebody stopped it."""
    stage = last_stage(run)
    if stage is None or stage.kind != StageKind.ALL_REDUCE:
        return AllReduceResult.UNKNOWN
    if stage.state is not StageState.DONE:
        return _RESULTS_BY_STATE.get(stage.state, AllReduceResult.UNKNOWN)
    return AllReduceResult.RIGHT if run.sums and all(total.error == 0 for total in run.sums) else AllReduceResult.WRONG


def is_across_gpus(runs: tuple[AllReduce, ...]) -> bool:
    """Whether these runs of one framework were across GPUs."""
    return bool(runs) and runs[0].devices[0].startswith("GPU")


def result_detail(run: AllReduce) -> str:
    """How it ended: the given reason, or the devices and the error."""
    stage = last_stage(run)
    if stage is not None and stage.state is not StageState.DONE:
        why = stage.error if isinstance(stage.error, str) else str(stage.state)
        return why if stage.kind == StageKind.ALL_REDUCE else f"{stage_name(stage)} {stage.state}: {why}"
    wrong = [f"{_size_text(total.size)} on {', '.join(total.wrong)}: off by {total.error}" for total in run.sums if total.error != 0]
    return "; ".join(wrong) or f"right in {len(run.sums)} sizes"


def _size_text(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count / 1024:g} KiB"
