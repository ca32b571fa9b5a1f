"""All-reduce results that only a machine with two GPUs could show: written by hand into one whose training was recorded on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from gpudoctor.snapshot import AllReduce, Nvml, Smoke, SmokeDevice, Snapshot, Stage, StageKind, StageState, Sum

Change = Callable[[Snapshot], Snapshot]
GPUS = ("GPU:0", "GPU:1")
BEFORE = (Stage(StageKind.IMPORT, StageState.DONE, seconds=3.1), Stage(StageKind.DEVICES, StageState.DONE, seconds=0.9))
SMALL, LARGE = Sum(4 << 10, 3, 4.1e-05, 9.99e7, 0.0), Sum(128 << 20, 3, 0.0104, 1.29e10, 0.0)


def _run(state: StageState, *sums: Sum, p2p: bool = True, error: str = "", output: str = "") -> AllReduce:
    stage = Stage(StageKind.ALL_REDUCE, state, **({"error": error} if error else {"seconds": 1.4}))
    return AllReduce(GPUS, p2p, (*BEFORE, stage), sums, **({"output": output} if output else {}))


RIGHT = _run(StageState.DONE, SMALL, LARGE)
RIGHT_WITHOUT = _run(StageState.DONE, SMALL, LARGE, p2p=False)
QUIET = "did not respond for 60 s in an all-reduce of 134217728 bytes over GPU:0, GPU:1"
HUNG = _run(StageState.HUNG, SMALL, error=QUIET)
WRONG = _run(StageState.DONE, SMALL, msgspec.structs.replace(LARGE, error=2.984375, wrong=("GPU:1",)))
REFUSED = "RuntimeError: NCCL Error 2: unhandled system error"
_WARNED = "4242:4301 [1] misc/shmutils.cc:87 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-8uDqGz (size 9637888)"
NO_ROOM = [_run(StageState.FAILED, p2p=p2p, error=REFUSED, output=_WARNED) for p2p in (True, False)]
STOPPED = _run(StageState.STOPPED, p2p=False, error="was not finished after 41 s in connecting the devices")


def over_two(trained: Change, *runs: AllReduce) -> Change:
    """What was recorded for one device, as if on two GPUs, with these all-reduce results."""

    def change(snapshot: Snapshot) -> Snapshot:
        whole = trained(snapshot)
        assert isinstance(whole.smoke, tuple)
        assert isinstance(whole.nvml, Nvml)
        assert isinstance(whole.nvml.gpus, tuple)
        one, address = whole.smoke[0], whole.nvml.gpus[1].address
        assert isinstance(one.devices, tuple)
        second: dict[str, Any] = {"device": "GPU:1", "address": address}
        smoke: Smoke = msgspec.structs.replace(
            one,
            devices=(*one.devices, SmokeDevice("GPU:1", "gpu", address=address)),
            kernels=(*one.kernels, *(msgspec.structs.replace(kernel, ran_on="GPU:1", **second) for kernel in one.kernels)),
            trainings=(*one.trainings, *(msgspec.structs.replace(each, placed_on=("GPU:1",), **second) for each in one.trainings)),
            all_reduces=runs,
        )
        return msgspec.structs.replace(whole, smoke=(smoke, *whole.smoke[1:]))

    return change
