"""Machines in a state that cannot be provoked without a GPU, made of recorded ones: which, and what was changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from gpudoctor.snapshot import Nvml, Smoke, SmokeDevice, Snapshot, Stage, StageState, decode
from tests.machines import described, surroundings

HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Edited:
    """A recorded machine with a change; the rest as in Recipe."""

    about: str
    base: str
    change: Callable[[Snapshot], Snapshot]
    verdict: str
    roots: Sequence[str] = ()
    folded: Sequence[str] = ()
    notes: Sequence[str] = ()


def load(name: str) -> dict[str, Any]:
    machine: dict[str, Any] = json.loads((HERE / f"{name}.json").read_bytes())
    return machine


def recorded(name: str) -> Snapshot:
    return decode(json.dumps(load(name)["snapshot"]).encode())


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


def trained_on_gpu(snapshot: Snapshot) -> Snapshot:
    return msgspec.structs.replace(snapshot, smoke=(_trained(snapshot),))


def strayed_to_cpu(snapshot: Snapshot) -> Snapshot:
    """Asked for the GPU, and every tensor of the training was on the CPU."""
    smoke = _trained(snapshot)
    trainings = tuple(msgspec.structs.replace(training, placed_on=("/device:CPU:0",)) for training in smoke.trainings)
    return msgspec.structs.replace(snapshot, smoke=(msgspec.structs.replace(smoke, trainings=trainings),))


def hung_in_training(snapshot: Snapshot) -> Snapshot:
    smoke = _trained(snapshot)
    hung = Stage("training on GPU:0", StageState.HUNG, error="gave no sign of life for 300 s")
    stages = tuple(stage for stage in smoke.stages if stage.name in {"import", "devices"})
    return msgspec.structs.replace(snapshot, smoke=(msgspec.structs.replace(smoke, stages=(*stages, hung), trainings=()),))


EDITED: dict[str, Edited] = {
    "gpu-trains": Edited(
        about="the training recorded on a CPU, as if on a GPU", base="healthy-one", change=trained_on_gpu, verdict="ready"
    ),
    "old-driver-trains-all-the-same": Edited(
        about="a driver below the floor with which a training was seen to learn: the prediction is only a note",
        base="driver-525-below-the-floor",
        change=trained_on_gpu,
        verdict="ready",
        notes=("driver-too-old",),
    ),
    "training-strays-to-cpu": Edited(
        about="TensorFlow lists the GPU, was asked to train on it, and computed on the CPU",
        base="healthy-one",
        change=strayed_to_cpu,
        verdict="broken",
        roots=("smoke-ran-on-cpu",),
    ),
    "training-hangs": Edited(
        about="the training gives no sign of life on the GPU",
        base="healthy-one",
        change=hung_in_training,
        verdict="broken",
        roots=("smoke-hung",),
    ),
    "container-lost-its-devices": Edited(
        about="a running container whose control group lost its devices after a daemon-reload on the host",
        base="container-given-its-gpus",
        change=surroundings.after_a_reload,
        verdict="broken",
        roots=("container-cgroup-device-lost",),
        folded=("cuda-init-fails",),
    ),
    "container-with-little-shared-memory": Edited(
        about="two GPUs in a container with 64 MiB of shared memory, not trained on yet",
        base="container-given-its-gpus",
        change=surroundings.with_dockers_shared_memory,
        verdict="unknown",
        roots=("container-shm-too-small",),
    ),
    "container-one-gpu-little-shared-memory": Edited(
        about="one GPU in a container with 64 MiB of shared memory: worth knowing",
        base="container-given-one-gpu",
        change=lambda snapshot: trained_on_gpu(surroundings.with_dockers_shared_memory(snapshot)),
        verdict="ready",
        notes=("container-shm-too-small",),
    ),
    "container-with-enough-shared-memory": Edited(
        about="two GPUs in a container with one GiB of shared memory, not trained on yet",
        base="container-given-its-gpus",
        change=surroundings.with_a_gibibyte_of_shared_memory,
        verdict="unknown",
    ),
    "mac-without-metal": Edited(
        about="a Mac with TensorFlow and without Apple's plug-in",
        base="healthy-one",
        change=described.on_a_mac,
        verdict="broken",
        roots=("metal-plugin-missing",),
    ),
    "mac-with-metal": Edited(
        about="a Mac with TensorFlow and Apple's plug-in, of which only the packages are known",
        base="healthy-one",
        change=described.on_a_mac_with_metal,
        verdict="unknown",
    ),
}
