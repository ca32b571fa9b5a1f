"""Runs our own kernel on each GPU that CUDA shows and nobody else uses, one after the other."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.derive import Gpu, MachineView
from gpudoctor.probe.contexts import context_of_device
from gpudoctor.process import Supervisor
from gpudoctor.progress import Event, Progress
from gpudoctor.smoke.plan import users_of_gpu
from gpudoctor.snapshot import Cause, CudaContext, CudaDevice, Hang, Libcuda, Missing, Nvml


def reason_against_touching(machine: MachineView) -> Missing | None:
    """Why no GPU can be touched; None if one can."""
    for section in (machine.observed.nvml, machine.observed.libcuda):
        hang = section.hang if isinstance(section, Nvml | Libcuda) else None
        if isinstance(hang, Hang):
            return Missing(Cause.TIMED_OUT, f"skipped because {hang.call} hangs")
    if any(isinstance(gpu.cuda, CudaDevice) for gpu in machine.hardware):
        return None
    return Missing(Cause.NOT_ASKED, "CUDA shows no GPU")


def touch_gpus(
    machine: MachineView, interpreter: str, supervisor: Supervisor, environ: Mapping[str, str], progress: Progress, *, force: bool
) -> tuple[CudaContext, ...]:
    """One context for each GPU that CUDA shows, by address; with `force` also for GPUs in use."""

    def one(gpu: Gpu, device: CudaDevice) -> CudaContext:
        busy = "" if force else users_of_gpu(gpu)
        if busy:
            return CudaContext(ordinal=device.ordinal, address=gpu.key, skipped=busy)
        progress(Event("begin", "kernel", gpu.label))
        done = context_of_device(supervisor, interpreter, (device.ordinal, gpu.key), environ)
        progress(Event("end", "kernel", gpu.label))
        return done

    return tuple(one(gpu, gpu.cuda) for gpu in machine.hardware if isinstance(gpu.cuda, CudaDevice))
