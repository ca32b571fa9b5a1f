"""GD7: the state that GPUs were put in: compute mode, MIG, memory that others hold, persistence."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Gpu, Ladder, Site, Visibility
from gpudoctor.diagnose.fixes import ROOT, end_processes, set_variable
from gpudoctor.diagnose.gpu_facts import GIB, MIB, for_data_centres, hidden, known, offered, unless_it_failed
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import GpuProcess, Missing, Nvml

NOTHING_FREE = GIB // 2
"""Bytes of free device memory below which not even a framework's context and libraries fit."""
NEEDED = 2 * GIB
"""What a small training needs of device memory: context, kernels and library workspaces take most of it, whatever the model."""
_MPS_SERVER = "nvidia-cuda-mps-server"
_EXCLUSIVE = ("exclusive-process", "exclusive-thread")


def _names(processes: tuple[GpuProcess, ...]) -> str:
    return ", ".join(f"{one.name} (pid {one.pid})" if isinstance(one.name, str) else f"pid {one.pid}" for one in processes)


def _default_mode(gpu: Gpu, site: Site) -> Fix:
    if site.container:
        return Fix("Have the host set the GPU's compute mode to DEFAULT.")
    return Fix("Let any number of programs use the GPU", f"sudo nvidia-smi -i {gpu.key} -c DEFAULT", (ROOT,))


@rule("GD705", severity=Severity.ERROR, breaks=Rung.KERNEL_RAN, since="0.1", about=SubjectKind.GPU)
def exclusive_compute_mode(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """The GPU admits one process at a time.

    ## Why it matters
    In the compute mode exclusive-process the second program gets error 46, "all CUDA-capable devices are busy or unavailable", however
    much memory is free; so does a training that starts a process of its own for each worker. Clusters set it on purpose, and MPS
    is mostly run this way: then its server is the one process.

    ## What to do
    Wait for the process that has the GPU or end it, take another GPU, or set the mode to DEFAULT.

    ## References
    - https://docs.nvidia.com/deploy/mps/
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    seen = known(gpu)
    if offered(seen.compute_mode) not in _EXCLUSIVE:
        return
    if hidden(gpu):
        not_applicable("hidden by CUDA_VISIBLE_DEVICES")
    holders = need(seen.compute_processes, Rung.NVML)
    shared = any(isinstance(one.name, str) and one.name == _MPS_SERVER for one in holders)
    taken = f"{_names(holders)} has it" if holders else "it is free"
    yield Problem(
        message=f"{gpu.label} is in the compute mode {seen.compute_mode}: one process at a time, and {taken}.",
        severity=None if holders and not shared else Severity.NOTE,
        evidence=(
            Evidence("compute mode", str(seen.compute_mode), "nvmlDeviceGetComputeMode"),
            *((Evidence("compute processes", _names(holders), "NVML"),) if holders else ()),
        ),
        fixes=_one_at_a_time(gpu, holders if not shared else (), site),
    )


def _one_at_a_time(gpu: Gpu, holders: tuple[GpuProcess, ...], site: Site) -> tuple[Fix, ...]:
    """Any number of programs may use the GPU, or the one that has it ends."""
    end = end_processes(holders, site)
    return (_default_mode(gpu, site), *((msgspec.structs.replace(end, kind=FixKind.INSTEAD),) if end else ()))


@rule("GD706", severity=Severity.ERROR, breaks=Rung.KERNEL_RAN, since="0.1", about=SubjectKind.GPU)
def compute_prohibited(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """The GPU's compute mode forbids every CUDA program.

    ## Why it matters
    In the compute mode prohibited a GPU is listed and no program can use it. It is meant for cards that only drive displays.

    ## What to do
    Set the mode to DEFAULT, or hide the card with CUDA_VISIBLE_DEVICES if it is meant to be so.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    seen = known(gpu)
    if offered(seen.compute_mode) != "prohibited":
        return
    if hidden(gpu):
        not_applicable("hidden by CUDA_VISIBLE_DEVICES")
    yield Problem(
        message=f"{gpu.label} is in the compute mode prohibited: no CUDA program may use it.",
        evidence=(Evidence("compute mode", "prohibited", "nvmlDeviceGetComputeMode"),),
        fixes=(_default_mode(gpu, site),),
    )


@rule("GD707", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", predicts=False)
def mig_one_instance_per_process(nvml: Nvml, visibility: Visibility | Missing | None) -> Iterator[Problem]:
    """CUDA gives a process one MIG instance, however many there are.

    ## Why it matters
    A process sees the first MIG instance that is visible to it and no other, nor a whole GPU beside it. A training over several
    instances needs a process for each, and they cannot talk by peer access.

    ## What to do
    Start a process for each instance, with its UUID alone in CUDA_VISIBLE_DEVICES. For one large training turn MIG off.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    gpus = [gpu for gpu in need(nvml.gpus, Rung.NVML) if gpu.mig_enabled is True]
    if not gpus:
        not_applicable("MIG is off")
    total = sum(len(need(gpu.mig_instances, Rung.NVML)) for gpu in gpus)
    if total < 2:
        return
    asked = [entry for entry in visibility.entries if entry.startswith("MIG-")] if isinstance(visibility, Visibility) else []
    more = len(asked) > 1
    yield Problem(
        message=f"There are {total} MIG instances"
        + (f" and CUDA_VISIBLE_DEVICES names {len(asked)}" if more else "")
        + ": a process uses only the first that it may see.",
        severity=None if more else Severity.NOTE,
        evidence=(
            Evidence("MIG instances", str(total), "NVML"),
            *((Evidence("CUDA_VISIBLE_DEVICES", ",".join(asked), "environment"),) if more else ()),
        ),
        fixes=(_one_instance([one.uuid for gpu in gpus if isinstance(gpu.mig_instances, tuple) for one in gpu.mig_instances], asked),),
    )


def _one_instance(there: list[str | Missing], asked: list[str]) -> Fix:
    """One instance to each process, the first of those that were asked for."""
    first = next(iter((*asked, *(uuid for uuid in there if isinstance(uuid, str)))), "")
    if not first:
        return Fix("Give each process the UUID of one instance in CUDA_VISIBLE_DEVICES; nvidia-smi -L lists them.")
    return set_variable("CUDA_VISIBLE_DEVICES", first, "Give each process one instance; for the first process")


@rule("GD708", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1", about=SubjectKind.GPU)
def mig_no_instances(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """MIG is on and the GPU was not divided into instances.

    ## Why it matters
    With MIG on, programs run on instances only. Without any the GPU is idle silicon: CUDA does not list it (error 100 where it is the only one).

    ## What to do
    Create a GPU instance with its compute instance, or turn MIG off. Instances do not survive a reboot.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    seen = known(gpu)
    if not offered(seen.mig_enabled):
        return
    if need(seen.mig_instances, Rung.NVML):
        return
    yield Problem(
        message=f"{gpu.label}: MIG is on and there is no MIG instance.",
        evidence=(Evidence("MIG mode", "enabled", "nvmlDeviceGetMigMode"), Evidence("MIG instances", "0", "NVML")),
        fixes=_divide(gpu, site),
    )


def _divide(gpu: Gpu, site: Site) -> tuple[Fix, ...]:
    if site.container:
        return (Fix("Give the container an instance, by its UUID in NVIDIA_VISIBLE_DEVICES, and see on the host that there is one."),)
    return (
        Fix("Turn MIG off to use the whole GPU", f"sudo nvidia-smi -i {gpu.key} -mig 0", (ROOT,)),
        Fix(
            "Create one instance of the whole GPU (`nvidia-smi mig -lgip` lists others)",
            f"sudo nvidia-smi mig -i {gpu.key} -cgi 0 -C",
            (ROOT,),
            kind=FixKind.INSTEAD,
        ),
    )


@rule("GD709", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU)
def gpu_memory_held_by_other_process(gpu: Gpu, ladder: Ladder, site: Site) -> Iterator[Problem]:
    """Other programs hold so much of the GPU's memory that a training does not find room.

    ## Why it matters
    A training that gets no memory ends with "out of memory" in its first steps, or when it makes its context. Frameworks take most of
    the memory when they start, so a forgotten notebook is enough. Memory can also be held by processes that are not visible here: in
    another container, or dead and not yet cleaned up.

    ## What to do
    Look at who they are, and end those that are yours. Memory that nobody visible holds is another container's, or goes with a reset.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    seen = known(gpu)
    if seen.mig_enabled is True:
        not_applicable("MIG: its instances have memory of their own")
    if hidden(gpu):
        not_applicable("hidden by CUDA_VISIBLE_DEVICES")
    if gpu.integrated:
        not_applicable("an integrated GPU's memory is the host's")
    free, used, total = (offered(value) for value in (seen.memory_free, seen.memory_used, seen.memory_total))
    if free >= NEEDED:
        return
    compute = need(seen.compute_processes, Rung.NVML)
    drawing = seen.graphics_processes if isinstance(seen.graphics_processes, tuple) else ()
    drawn = sum(one.memory for one in drawing if isinstance(one.memory, int) and one.pid not in {other.pid for other in compute})
    if used - drawn < NEEDED - free:
        not_applicable("ending other programs would not give enough memory")
    holders = f"held by {_names(compute)}" if compute else "held by processes that are not visible here"
    yield Problem(
        message=f"{gpu.label}: {free // MIB} MiB of {total // MIB} are free; {used // MIB} MiB are used, {holders}.",
        severity=None if free < NOTHING_FREE else unless_it_failed(ladder, gpu),
        confidence=Confidence.CERTAIN if compute else Confidence.LIKELY,
        evidence=(
            Evidence("memory free, used", f"{free // MIB} MiB, {used // MIB} MiB", "nvmlDeviceGetMemoryInfo"),
            Evidence("compute processes", _names(compute) or "none visible", "NVML"),
        ),
        fixes=_free(compute, site),
    )


def _free(compute: tuple[GpuProcess, ...], site: Site) -> tuple[Fix, ...]:
    """End those that are known; others are found by who has the device files open."""
    end = end_processes(compute, site)
    if end is not None:
        return (end,)
    look = Fix("See who has the device open", "sudo fuser -v /dev/nvidia*", (ROOT,), kind=FixKind.CHECK)
    return look, Fix("End the processes that hold the GPU's memory; what a dead one holds is freed by a reset of the GPU.", needs=(ROOT,))


@rule("GD712", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", predicts=False)
def persistence_mode_off(nvml: Nvml, site: Site) -> Iterator[Problem]:
    """Persistence mode is off on cards for servers.

    ## Why it matters
    Without it the driver starts a GPU anew for each first program and shuts it down after the last: seconds at every start, more with
    many cards, and settings and error counters are lost each time. On desktops the display keeps the driver awake.

    ## What to do
    Run nvidia-persistenced, or set the mode by hand until the next reboot.

    ## References
    - https://docs.nvidia.com/deploy/driver-persistence/
    """
    if not site.has_pci:
        not_applicable("the driver of this platform has no persistence mode")
    gpus = [gpu for gpu in need(nvml.gpus, Rung.NVML) if for_data_centres(gpu.name)]
    if not gpus:
        not_applicable("no cards for servers")
    off = [str(gpu.index) for gpu in gpus if gpu.persistence is False]
    if off:
        yield Problem(
            message=f"Persistence mode is off on GPU {', '.join(off)}: each first program waits for the driver to start the GPU.",
            evidence=(Evidence("persistence mode", f"off on GPU {', '.join(off)}", "nvmlDeviceGetPersistenceMode"),),
            fixes=(
                Fix("Have the host run nvidia-persistenced.")
                if site.container
                else Fix(
                    "Run the persistence daemon",
                    "sudo systemctl enable --now nvidia-persistenced",
                    (ROOT,),
                ),
            ),
        )
    for gpu in gpus:
        offered(gpu.persistence)


RULES = (
    exclusive_compute_mode,
    compute_prohibited,
    mig_one_instance_per_process,
    mig_no_instances,
    gpu_memory_held_by_other_process,
    persistence_mode_off,
)
