"""What to train with and on: the installed frameworks, and the GPUs that CUDA shows and nobody else uses."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Gpu, MachineView
from gpudoctor.findings import Level
from gpudoctor.findings.wording import count_with_noun, joined_words
from gpudoctor.frameworks import TRAINED
from gpudoctor.snapshot import Cause, CudaContext, CudaDevice, Hang, LeftAlone, Missing, NvmlGpu, Python

OLDEST_PYTHON = (3, 6)
"""The oldest Python for the scripts of children/; scripts/lint compiles them with it."""

MEMORY_DIVISOR = 4
"""Training may use at most this part of the memory that is free at its start: 1 in 4."""


class MemoryLimit(msgspec.Struct, frozen=True):
    """How much of a device's memory training may use, and how much it has, in bytes."""

    limit: int
    total: int


class TrainingPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One framework's training."""

    framework: str
    executable: str
    devices: tuple[int, ...]
    """CUDA ordinals; none: the CPU."""
    addresses: dict[int, str]
    """The PCI address of each CUDA ordinal."""
    memory: dict[int, MemoryLimit] = {}
    """By CUDA ordinal; missing for a device whose memory is unknown."""
    left_alone: tuple[LeftAlone, ...]
    on_cpu: bool = False
    unsupported: str = ""
    """Why gpudoctor cannot train with this interpreter; empty if it can."""
    measure: bool = False
    """Whether to measure copies, memory, matmul and a compiled step too."""


def planned_trainings(machine: MachineView, executable: str | None, *, force: bool) -> tuple[TrainingPlan, ...] | Missing:
    """The training runs that the user's options and the machine allow, or why there are none.

    `executable` starts the target interpreter; None if none works.
    """
    snapshot = machine.observed
    if machine.policy.level not in {Level.TRAIN, Level.FULL}:
        return Missing(Cause.NOT_ASKED, f"level {machine.policy.level} does not train")
    if isinstance(snapshot.frameworks, Missing):
        return snapshot.frameworks
    if executable is None:
        return Missing(Cause.FAILED, "the examined Python does not work")
    names = [framework.name for framework in machine.frameworks]
    mere = {view.name for view in machine.frameworks if machine.hardware and view.observed.cuda_build is False and view.required_by}
    names = [name for name in names if name not in mere] or names
    wanted = machine.policy.frameworks
    usable = [name for name in wanted or names if name in names and name in TRAINED]
    if not usable and wanted:
        return Missing(Cause.ABSENT, f"{' and '.join(wanted)} {'is' if len(wanted) == 1 else 'are'} not installed")
    if not usable:
        what = f"gpudoctor cannot train with {', '.join(names)}" if names else "no framework is installed to train with"
        return Missing(Cause.UNSUPPORTED if names else Cause.ABSENT, what)
    return _plans_for_hardware(machine, usable, executable, force=force)


def _plans_for_hardware(machine: MachineView, usable: list[str], executable: str, *, force: bool) -> tuple[TrainingPlan, ...] | Missing:
    shown = [gpu for gpu in machine.hardware if isinstance(gpu.cuda, CudaDevice)]
    on_cpu = not machine.hardware and machine.policy.allow_cpu
    if not shown and not on_cpu:
        return Missing(Cause.NOT_ASKED, "CUDA shows no GPU")
    busy = {
        gpu.key: reason for gpu in shown if (reason := _hang_reason(gpu, machine.observed.contexts) or ("" if force else users_of_gpu(gpu)))
    }
    free = {gpu.cuda.ordinal: gpu.key for gpu in shown if isinstance(gpu.cuda, CudaDevice) and gpu.key not in busy}
    unsupported = _unsupported_reason(machine.observed.python)
    memory = {gpu.cuda.ordinal: _memory_limit(gpu, machine.observed.contexts) for gpu in shown if isinstance(gpu.cuda, CudaDevice)}
    return tuple(
        TrainingPlan(
            framework=name,
            executable=executable,
            devices=tuple(sorted(free)),
            addresses=free,
            memory={ordinal: seen for ordinal, seen in memory.items() if seen is not None and ordinal in free},
            left_alone=tuple(LeftAlone(key, reason) for key, reason in busy.items()),
            on_cpu=on_cpu,
            unsupported=unsupported,
            measure=machine.policy.level is Level.FULL,
        )
        for name in usable
    )


def _unsupported_reason(python: Python | Missing) -> str:
    """Why the scripts of children/train do not run with this interpreter; empty if they do or its version is unknown."""
    version = versions.parse_version(python.version) if isinstance(python, Python) and isinstance(python.version, str) else None
    if version is None or version[:2] >= OLDEST_PYTHON:
        return ""
    return f"Smoke training needs Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer; this is {version}."


def _hang_reason(gpu: Gpu, contexts: tuple[CudaContext, ...] | Missing) -> str:
    """Which call for our own kernel on this GPU hung; empty if none."""
    tried = () if isinstance(contexts, Missing) else contexts
    hang = next((context.hang for context in tried if context.address == gpu.key), None)
    return f"skipped because {hang.call} hung" if isinstance(hang, Hang) else ""


def _memory_limit(gpu: Gpu, contexts: tuple[CudaContext, ...] | Missing) -> MemoryLimit | None:
    """The lower of NVML's figure, for the whole card, and CUDA's if our own kernel ran, for this program's share."""
    tried = () if isinstance(contexts, Missing) else contexts
    layers: list[NvmlGpu | CudaContext | Missing] = [gpu.nvml, *(context for context in tried if context.address == gpu.key)]
    seen = [
        (layer.memory_free, layer.memory_total)
        for layer in layers
        if not isinstance(layer, Missing) and isinstance(layer.memory_free, int) and isinstance(layer.memory_total, int)
    ]
    if not seen:
        return None
    free, total = map(min, zip(*seen, strict=True))
    return MemoryLimit(free // MEMORY_DIVISOR, total)


_MAX_USERS = 3
"""Processes named of those that use a GPU; the others are counted."""


def users_of_gpu(gpu: Gpu) -> str:
    """Who computes on a GPU, as a phrase; empty if nobody was seen. Displays and desktops do not count."""
    if not isinstance(gpu.nvml, NvmlGpu) or isinstance(gpu.nvml.compute_processes, Missing) or not gpu.nvml.compute_processes:
        return ""
    users = [process.label for process in gpu.nvml.compute_processes]
    others = [count_with_noun(len(users) - _MAX_USERS, "other process", "other processes")] if len(users) > _MAX_USERS else []
    return f"in use by {joined_words(users[:_MAX_USERS] + others)}; --force uses it anyway"
