"""The job that this process runs in, the GPUs its scheduler assigned, and the folder of the CUDA Multi-Process Service."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.probe import files
from gpudoctor.snapshot import NOT_ASKED, SCHEDULERS, Allocation, Cause, Missing, Mps, readable

SLURM = ("SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
"""The ids of the step's, or the job's, GPUs on this node; Slurm sets neither without GPUs."""
NO_FILES = "NoDevFiles"
"""What older Slurm sets CUDA_VISIBLE_DEVICES to in a job without GPUs."""
CONSTRAINED = ("/slurm", "/job_", "pbs_jobs", "pbspro", "/lsf/", "kubepods")
"""How the control group of a job is named."""
PIPES = "CUDA_MPS_PIPE_DIRECTORY"
DEFAULT_PIPES = "/tmp/nvidia-mps"  # noqa: S108 -- looked at, not written to


def allocation(root: str, environ: Mapping[str, str]) -> Allocation | Missing:
    """The section; absent outside a job."""
    job = next(((variable, name) for variable, name in SCHEDULERS if environ.get(variable)), None)
    if job is None:
        return Missing(Cause.ABSENT, f"none of {', '.join(variable for variable, _ in SCHEDULERS)} is set")
    gpus, where = _ALLOTTED[job[1]](root, environ)
    groups = files.read("/proc/self/cgroup", root)
    constrained = groups if isinstance(groups, Missing) else any(word in groups for word in CONSTRAINED)
    hidden = gpus == () and environ.get("CUDA_VISIBLE_DEVICES") == NO_FILES
    return Allocation(job[1], f"environment variable {job[0]}", gpus, where, constrained, hidden)


def _list(text: str) -> tuple[str, ...]:
    return tuple(readable(part.strip()) for part in text.split(",") if part.strip())


Allotted = tuple[tuple[str, ...] | Missing, str]


def _slurm(_root: str, environ: Mapping[str, str]) -> Allotted:
    for variable in SLURM:
        if environ.get(variable):
            return _list(environ[variable]), variable
    count = environ.get("SLURM_GPUS_ON_NODE", "")
    if count.isascii() and count.isdecimal() and len(count) < 4:
        return tuple(str(number) for number in range(int(count))), "SLURM_GPUS_ON_NODE"
    if environ.get("CUDA_VISIBLE_DEVICES") == NO_FILES:
        return (), f"CUDA_VISIBLE_DEVICES={NO_FILES}"
    asked = next((name for name in ("SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK") if environ.get(name)), "")
    if asked:  # in salloc's shell no step runs yet, so none has GPUs
        return Missing(Cause.NOT_STATED, f"{asked}={readable(environ[asked])} is the request, not what was assigned"), asked
    return (), f"neither {' nor '.join(SLURM)} is set"


def _pbs(root: str, environ: Mapping[str, str]) -> Allotted:
    """Torque and some sites write a file with one line per GPU; others only set CUDA_VISIBLE_DEVICES."""
    path = environ.get("PBS_GPUFILE", "")
    text = files.read(path, root, 65536) if path.startswith("/") else NOT_ASKED
    if isinstance(text, str):
        return tuple(line.strip() for line in text.splitlines() if line.strip()), "PBS_GPUFILE"
    return _masked(root, environ)


def _masked(_root: str, environ: Mapping[str, str]) -> Allotted:
    value = environ.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        return Missing(Cause.NOT_STATED, "this scheduler states the assigned GPUs only in CUDA_VISIBLE_DEVICES, which is not set"), ""
    return () if value == NO_FILES else _list(value), "CUDA_VISIBLE_DEVICES"


def _kubernetes(_root: str, environ: Mapping[str, str]) -> Allotted:
    """The device plugin names the GPUs; images and the Container Device Interface set "all" and "void"."""
    value = environ.get("NVIDIA_VISIBLE_DEVICES", "")
    if value in {"", "all", "none", "void"}:
        return Missing(Cause.NOT_STATED, f"NVIDIA_VISIBLE_DEVICES={value or '(not set)'} names no GPU"), "NVIDIA_VISIBLE_DEVICES"
    return _list(value), "NVIDIA_VISIBLE_DEVICES"


_ALLOTTED = {"Slurm": _slurm, "PBS": _pbs, "LSF": _masked, "Kubernetes": _kubernetes}


def mps(root: str, environ: Mapping[str, str]) -> Mps | Missing:
    """The folder with the MPS control daemon's pipes; absent if there is none."""
    named = environ.get(PIPES, "")
    path = named if named.startswith("/") else DEFAULT_PIPES
    if not files.is_folder(path, root):
        return Missing(Cause.ABSENT, f"{readable(path)} is not a folder")
    return Mps(readable(path), PIPES if path == named else "default", files.exists(f"{path}/control", root))
