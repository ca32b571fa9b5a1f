"""The job that this process runs in, the GPUs its scheduler assigned, and the folder of the CUDA Multi-Process Service."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.probe import files
from gpudoctor.snapshot import NOT_ASKED, SCHEDULERS, Allocation, Cause, Missing, Mps, printable_text

SLURM_VARIABLES = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
"""The ids of the step's, or the job's, GPUs on this node; Slurm sets neither without GPUs."""
NO_DEVICE_FILES = "NoDevFiles"
"""What older Slurm sets CUDA_VISIBLE_DEVICES to in a job without GPUs."""
JOB_CGROUPS = ("/slurm", "/job_", "pbs_jobs", "pbspro", "/lsf/", "kubepods")
"""How the control group of a job is named."""
PIPE_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY"
DEFAULT_PIPE_FOLDER = "/tmp/nvidia-mps"  # noqa: S108 -- looked at, not written to


def gpu_allocation(root: str, environ: Mapping[str, str]) -> Allocation | Missing:
    """The section; absent outside a job."""
    job = next(((variable, name) for variable, name in SCHEDULERS if environ.get(variable)), None)
    if job is None:
        return Missing(Cause.ABSENT, f"none of {', '.join(variable for variable, _ in SCHEDULERS)} is set")
    gpus, where = _ALLOCATION_BY_SCHEDULER[job[1]](root, environ)
    groups = files.read_text("/proc/self/cgroup", root)
    constrained = groups if isinstance(groups, Missing) else any(word in groups for word in JOB_CGROUPS)
    hidden = gpus == () and environ.get("CUDA_VISIBLE_DEVICES") == NO_DEVICE_FILES
    return Allocation(job[1], f"environment variable {job[0]}", gpus, where, constrained, hidden)


def _comma_separated(text: str) -> tuple[str, ...]:
    return tuple(printable_text(part.strip()) for part in text.split(",") if part.strip())


AllocatedGpus = tuple[tuple[str, ...] | Missing, str]


def _slurm_gpus(_root: str, environ: Mapping[str, str]) -> AllocatedGpus:
    for variable in SLURM_VARIABLES:
        if environ.get(variable):
            return _comma_separated(environ[variable]), variable
    count = environ.get("SLURM_GPUS_ON_NODE", "")
    if count.isascii() and count.isdecimal() and len(count) < 4:
        return tuple(str(number) for number in range(int(count))), "SLURM_GPUS_ON_NODE"
    if environ.get("CUDA_VISIBLE_DEVICES") == NO_DEVICE_FILES:
        return (), f"CUDA_VISIBLE_DEVICES={NO_DEVICE_FILES}"
    asked = next((name for name in ("SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK") if environ.get(name)), "")
    if asked:  # in salloc's shell no step runs yet, so none has GPUs
        return Missing(Cause.NOT_STATED, f"{asked}={printable_text(environ[asked])} is the request, not what was assigned"), asked
    return (), f"neither {' nor '.join(SLURM_VARIABLES)} is set"


def _pbs_gpus(root: str, environ: Mapping[str, str]) -> AllocatedGpus:
    """Torque and some sites write a file with one line per GPU; others only set CUDA_VISIBLE_DEVICES."""
    path = environ.get("PBS_GPUFILE", "")
    text = files.read_text(path, root, 65536) if path.startswith("/") else NOT_ASKED
    if isinstance(text, str):
        return tuple(line.strip() for line in text.splitlines() if line.strip()), "PBS_GPUFILE"
    return _gpus_in_mask(root, environ)


def _gpus_in_mask(_root: str, environ: Mapping[str, str]) -> AllocatedGpus:
    value = environ.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return Missing(Cause.NOT_STATED, "this scheduler states the assigned GPUs only in CUDA_VISIBLE_DEVICES, which is not set"), ""
    return () if value == NO_DEVICE_FILES else _comma_separated(value), "CUDA_VISIBLE_DEVICES"


def _kubernetes_gpus(_root: str, environ: Mapping[str, str]) -> AllocatedGpus:
    """The device plugin names the GPUs; images and the Container Device Interface set "all" and "void"."""
    value = environ.get("NVIDIA_VISIBLE_DEVICES", "")
    if value in {"", "all", "none", "void"}:
        return Missing(Cause.NOT_STATED, f"NVIDIA_VISIBLE_DEVICES={value or '(not set)'} names no GPU"), "NVIDIA_VISIBLE_DEVICES"
    return _comma_separated(value), "NVIDIA_VISIBLE_DEVICES"


_ALLOCATION_BY_SCHEDULER = {"Slurm": _slurm_gpus, "PBS": _pbs_gpus, "LSF": _gpus_in_mask, "Kubernetes": _kubernetes_gpus}


def mps_folder(root: str, environ: Mapping[str, str]) -> Mps | Missing:
    """The folder with the MPS control daemon's pipes; absent if there is none."""
    named = environ.get(PIPE_VARIABLE, "")
    path = named if named.startswith("/") else DEFAULT_PIPE_FOLDER
    if not files.is_folder(path, root):
        return Missing(Cause.ABSENT, f"{printable_text(path)} is not a folder")
    return Mps(printable_text(path), PIPE_VARIABLE if path == named else "default", files.exists(f"{path}/control", root))
