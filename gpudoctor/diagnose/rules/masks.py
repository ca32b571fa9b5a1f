"""GD1 and GD7: settings that hide a GPU from programs, and what our own kernel met on a GPU."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Gpu, Hardware, Site, Visibility
from gpudoctor.derive.libcuda import failed_call
from gpudoctor.derive.visibility import VARIABLE
from gpudoctor.diagnose.fixes import ROOT, end_processes, set_variable, unset
from gpudoctor.diagnose.gpu_facts import replace
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import CudaContext, CudaDevice, Framework, Libcuda, Missing, Nvml, NvmlGpu, Snapshot, Variables

_OUT_OF_MEMORY = 2
_GIB = 1 << 30


@rule("GD117", severity=Severity.ERROR, breaks=Rung.KERNEL_RAN, since="0.1", about=SubjectKind.GPU, predicts=False)
def gpu_computes_wrong(gpu: Gpu, context: CudaContext, snapshot: Snapshot) -> Iterator[Problem]:
    """The GPU computed wrong integers.

    ## Why it matters
    A small kernel of ours mixes the bits of some thousand integers, and every result is known beforehand. Integer arithmetic has no
    rounding: one wrong bit is a defect of the GPU, its memory, its power supply, or of the driver's compiler.

    ## What to do
    Do not train on this GPU. Take back overclocking and undervolting, run NVIDIA's diagnostics, look at the ECC counters and the
    kernel's log, and have the card replaced if it happens again.

    ## References
    - https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html
    """
    if need(context.kernel_right, Rung.KERNEL_RAN):
        return
    first = context.first_wrong if isinstance(context.first_wrong, str) else "not known which"
    yield Problem(
        message=f"{gpu.label}: {context.wrong} of {context.elements} results of a small kernel are wrong, the first: {first}.",
        evidence=(
            Evidence("wrong results", f"{context.wrong} of {context.elements}", "our own kernel"),
            Evidence("the first", first, "our own kernel"),
        ),
        fixes=(
            Fix("Look for memory errors", f"nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER -i {gpu.key}", kind=FixKind.CHECK),
            *_take_out(gpu, snapshot),
            Fix("Confirm it with NVIDIA's diagnostics", "sudo dcgmi diag -r 3", (ROOT,), kind=FixKind.CHECK),
            replace("Replace the card", FixKind.ELSE),
        ),
    )


def _take_out(gpu: Gpu, snapshot: Snapshot) -> tuple[Fix, ...]:
    """Train on the others; the only one is set to the clocks that it was built for."""
    others = [one for one in _devices(snapshot) if one.address != gpu.key]
    if others:
        left = ",".join(one.uuid if isinstance(one.uuid, str) else str(one.ordinal) for one in others)
        return (Fix("Train on the other GPUs only", f"export {VARIABLE}={left}"),)
    return (
        Fix("Undo overclocking: set the default clocks", f"sudo nvidia-smi -i {gpu.key} -rgc; sudo nvidia-smi -i {gpu.key} -rmc", (ROOT,)),
    )


def _devices(snapshot: Snapshot) -> tuple[CudaDevice, ...]:
    return snapshot.libcuda.devices if isinstance(snapshot.libcuda, Libcuda) and isinstance(snapshot.libcuda.devices, tuple) else ()


@rule("GD703", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1", about=SubjectKind.ENVIRONMENT, predicts=False)
def cuda_visible_devices_uuid_unsupported(
    visibility: Visibility, snapshot: Snapshot, nvml: Nvml | Missing, site: Site
) -> Iterator[Problem]:
    """CUDA_VISIBLE_DEVICES names a GPU by a UUID that CUDA here does not know.

    ## Why it matters
    Instead of a number the variable may hold a UUID, of a GPU (GPU-…) or of a MIG instance (MIG-…). UUIDs change with the card, MIG
    instances with each new partition. CUDA stops at the first entry that it does not know, so the GPUs after it are gone too.

    ## What to do
    Take the UUIDs from `nvidia-smi -L` anew, or use numbers. In a scheduler's job the variable is the scheduler's to set.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
    """
    if not visibility.there:
        not_applicable("CUDA shows no GPU without the variable either")
    entries = visibility.entries
    if not any(entry.startswith(("GPU-", "MIG-")) for entry in entries):
        not_applicable(f"{VARIABLE} holds no UUID")
    if visibility.shown >= len(entries):
        return
    entry = entries[visibility.shown]
    if not entry.startswith(("GPU-", "MIG-")):
        return
    known = sorted(_uuids(snapshot.libcuda_unmasked, nvml))
    there = any(one.lower().startswith(entry.lower()) for one in known)
    why = "this CUDA does not take it, though the GPU is there" if there else "no GPU or MIG instance here has that UUID"
    ask = Fix(f"Ask {site.scheduler} for a GPU again; it sets this variable, so do not set it by hand.")
    yield Problem(
        severity=Severity.WARNING if visibility.shown else None,
        message=f"{VARIABLE} names {entry}, and {why}: CUDA shows {visibility.shown} of the {len(entries)} devices that it names.",
        evidence=(
            Evidence(VARIABLE, visibility.value, "environment"),
            Evidence("UUIDs that there are", ", ".join(known) or "none known", "CUDA without the variable, NVML"),
        ),
        fixes=(ask,) if site.scheduler else (_right_mask(entries, known, snapshot),),
    )


def _right_mask(entries: tuple[str, ...], known: list[str], snapshot: Snapshot) -> Fix:
    """The variable with the entries that name a GPU; unset where none does."""
    devices = _devices(msgspec.structs.replace(snapshot, libcuda=snapshot.libcuda_unmasked))
    ordinals = {one.uuid: str(one.ordinal) for one in devices}
    right = []
    for entry in entries:
        named = next((one for one in known if one.lower().startswith(entry.lower())), "")
        right += [entry] if entry.isdecimal() else [ordinals[named]] if named in ordinals else []
    if not right:
        return unset(VARIABLE)
    return set_variable(VARIABLE, ",".join(right), f"Name only GPUs that are there, here and where {VARIABLE} is set")


def _uuids(unmasked: Libcuda | Missing, nvml: Nvml | Missing) -> set[str]:
    """The UUIDs that CUDA without the mask and NVML give, MIG instances included."""
    found: list[object] = []
    if isinstance(unmasked, Libcuda) and not isinstance(unmasked.devices, Missing):
        found += [device.uuid for device in unmasked.devices]
    for gpu in nvml.gpus if isinstance(nvml, Nvml) and not isinstance(nvml.gpus, Missing) else ():
        instances = () if isinstance(gpu.mig_instances, Missing) else gpu.mig_instances
        found += [gpu.uuid, *(one.uuid for one in instances)]
    return {uuid for uuid in found if isinstance(uuid, str)}


_TRUE = {"1", "true", "yes", "y", "on", "t"}


def _hidden(framework: str, values: dict[str, str]) -> tuple[str, bool] | None:
    """The variable that keeps a framework off the GPU, and whether from everything it does; None where none does."""
    if framework == "jax":
        for name in ("JAX_PLATFORMS", "JAX_PLATFORM_NAME"):
            platforms = [word.strip().lower() for word in values.get(name, "").split(",") if word.strip()]
            if platforms and platforms[0] not in {"cuda", "gpu"}:
                return name, not {"cuda", "gpu"} & set(platforms)
    if framework == "torch":
        if values.get("ACCELERATE_USE_CPU", "").lower() in _TRUE:
            return "ACCELERATE_USE_CPU", False
        if values.get("KERAS_TORCH_DEVICE", "").lower().startswith("cpu"):
            return "KERAS_TORCH_DEVICE", False
    return None


@rule("GD704", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def env_hides_gpu(framework: Framework, variables: Variables, hardware: Hardware) -> Iterator[Problem]:
    """An environment variable tells the framework to use the CPU.

    ## Why it matters
    JAX obeys JAX_PLATFORMS: with "cpu" it never looks for a GPU, with "cpu,cuda" it computes on the CPU unless told otherwise. Hugging
    Face Accelerate obeys ACCELERATE_USE_CPU, Keras over PyTorch KERAS_TORCH_DEVICE. Such a variable, set once for a test, stays in a
    profile, an image or a job script, and nothing below the framework is wrong.

    It is an error where the framework itself never uses a GPU then and no other one of the environment could; else a warning.

    ## What to do
    Unset the variable, here and where it is set.

    ## References
    - https://docs.jax.dev/en/latest/config_options.html
    - https://huggingface.co/docs/accelerate/package_reference/cli
    """
    if not hardware:
        not_applicable("there is no NVIDIA GPU to be hidden")
    hidden = _hidden(framework.name, variables.values)
    if hidden is None:
        return
    name, wholly = hidden
    value = variables.values[name]
    yield Problem(
        severity=None if wholly else Severity.WARNING,
        only_for=framework.name,
        message=f"{name}={value} tells {framework.name} to {'use' if wholly else 'prefer'} the CPU.",
        evidence=(Evidence(name, value, "environment"),),
        fixes=(unset(name),),
    )


@rule("GD711", severity=Severity.ERROR, breaks=Rung.KERNEL_RAN, since="0.1", about=SubjectKind.GPU, predicts=False)
def gpu_memory_insufficient(gpu: Gpu, context: CudaContext, site: Site) -> Iterator[Problem]:
    """The GPU has too little free memory even for an empty CUDA program.

    ## Why it matters
    A context takes some hundred MiB of the GPU's memory before a program stores anything. Where that is not left, every framework
    fails with "out of memory" (error 2), however small the model.

    ## What to do
    Find who holds the memory and end it, or wait, or take another GPU. Processes in other containers or of other users may not be
    listed to you; the memory in use is.

    ## References
    - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """
    call = failed_call(context)
    if call is None or call.status.code != _OUT_OF_MEMORY:
        if call is None:
            need(context.kernel_right, Rung.KERNEL_RAN)
        return
    yield Problem(
        message=f"{gpu.label}: {call.call} answers 2 ({call.status.name}){_memory(gpu)}.",
        evidence=(Evidence(call.call, f"{call.status.code} {call.status.name}", "our own kernel"), *_holders(gpu)),
        fixes=_free(gpu, site),
    )


def _free(gpu: Gpu, site: Site) -> tuple[Fix, ...]:
    holders = gpu.nvml.compute_processes if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.compute_processes, tuple) else ()
    end = end_processes(holders, site)
    return (
        Fix("See who has the GPU open", "sudo fuser -v /dev/nvidia*", (ROOT,), kind=FixKind.CHECK),
        end or Fix("End the processes that hold the GPU's memory, or use another GPU."),
    )


def _memory(gpu: Gpu) -> str:
    if not isinstance(gpu.nvml, NvmlGpu) or isinstance(gpu.nvml.memory_total, Missing) or isinstance(gpu.nvml.memory_free, Missing):
        return ""
    return f"; {gpu.nvml.memory_free / _GIB:.1f} of {gpu.nvml.memory_total / _GIB:.1f} GiB are free"


def _holders(gpu: Gpu) -> tuple[Evidence, ...]:
    if not isinstance(gpu.nvml, NvmlGpu) or isinstance(gpu.nvml.compute_processes, Missing):
        return ()
    pids = ", ".join(str(process.pid) for process in gpu.nvml.compute_processes)
    return (Evidence("processes that compute on it", pids or "none is listed", "NVML"),)


RULES = (gpu_computes_wrong, cuda_visible_devices_uuid_unsupported, env_hides_gpu, gpu_memory_insufficient)
