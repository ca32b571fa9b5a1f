"""Good and bad training on a GPU: recorded on a CPU, shown as if on the GPU of another recorded machine."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gpudoctor.snapshot import Libraries, LibraryFile, MemoryKills, Nvml, Smoke, SmokeDevice, Snapshot, Stage, StageKind, StageState
from tests.machines.store import recorded


def _trained(snapshot: Snapshot) -> Smoke:
    """The training recorded on a CPU, as if on the snapshot's first GPU."""
    smoke = recorded("cpu-trains").smoke
    assert isinstance(smoke, tuple)
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    where = {"device": "GPU:0", "address": snapshot.nvml.gpus[0].address}
    replace = msgspec.structs.replace
    return replace(
        smoke[0],
        devices=(*smoke[0].devices, SmokeDevice("GPU:0", "gpu", address=where["address"])) if isinstance(smoke[0].devices, tuple) else (),
        kernels=tuple(replace(kernel, ran_on="GPU:0", **where) for kernel in smoke[0].kernels),
        trainings=tuple(replace(training, placed_on=("GPU:0",), **where) for training in smoke[0].trainings),
    )


def on_gpu(snapshot: Snapshot) -> Snapshot:
    return msgspec.structs.replace(snapshot, smoke=(_trained(snapshot),))


def strayed_to_cpu(snapshot: Snapshot) -> Snapshot:
    """The GPU was requested, and every tensor of the training was on the CPU."""
    smoke = _trained(snapshot)
    trainings = tuple(msgspec.structs.replace(training, placed_on=("/device:CPU:0",)) for training in smoke.trainings)
    return msgspec.structs.replace(snapshot, smoke=(msgspec.structs.replace(smoke, trainings=trainings),))


def hung_in_training(snapshot: Snapshot) -> Snapshot:
    smoke = _trained(snapshot)
    hung = Stage(StageKind.TRAINING, StageState.HUNG, device="GPU:0", error="did not respond for 300 s")
    stages = tuple(stage for stage in smoke.stages if stage.kind in (StageKind.IMPORT, StageKind.DEVICES))
    return msgspec.structs.replace(snapshot, smoke=(msgspec.structs.replace(smoke, stages=(*stages, hung), trainings=()),))


def killed_for_want_of_memory(snapshot: Snapshot) -> Snapshot:
    """As the kernel counts it; tests/smoke/test_provoked.py provokes it for real."""
    assert isinstance(snapshot.smoke, tuple)
    replace, kills = msgspec.structs.replace, MemoryKills(count=1, where="memory.events of this control group")
    return replace(snapshot, smoke=(replace(snapshot.smoke[0], memory_kills=kills),))


def maps(instead: str) -> Callable[[Snapshot], Snapshot]:
    """Trained on the GPU; its process maps the files of the X-ray, except `instead` for the first of cuDNN."""

    def change(snapshot: Snapshot) -> Snapshot:
        assert isinstance(snapshot.libraries, Libraries)
        uses = snapshot.libraries.frameworks[0].uses
        assert isinstance(uses, tuple)
        files = [(use, use.file.real) for use in uses if isinstance(use.file, LibraryFile) and isinstance(use.file.real, str)]
        mapped = tuple(instead if instead and use.wanted == "libcudnn.so.9" else real for use, real in files)
        return msgspec.structs.replace(snapshot, smoke=(msgspec.structs.replace(_trained(snapshot), mapped=mapped),))

    return change


TOO_OLD_FOR_TRITON = (
    "Found NVIDIA GeForce GTX 1080 which is too old to be supported by the triton GPU compiler, which is used as the backend. "
    "Triton only supports devices of CUDA Capability >= 7.0, but your device is of CUDA capability 6.1"
)
"""The message of torch/_inductor in 2.0.0 to 2.15.0."""


def refused_by_triton(snapshot: Snapshot) -> Snapshot:
    """PyTorch trained on the GPU, measured everything, and stopped in the compiled step."""
    refused = Stage(StageKind.COMPILED_STEP, StageState.FAILED, device="GPU:0", error=TOO_OLD_FOR_TRITON)
    smoke = msgspec.structs.replace(_trained(snapshot), framework="torch", version="2.4.0+cu121")
    return msgspec.structs.replace(snapshot, smoke=(msgspec.structs.replace(smoke, stages=(*smoke.stages, refused)),))
