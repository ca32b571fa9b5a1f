"""Observations around the examined processes: container, its tools, loader cache, limits, scheduler, MPS, WSL."""

from __future__ import annotations

from typing import Literal

from gpudoctor.snapshot.values import NOT_ASKED, Fact, Missing, Observed

Limit = int | Literal["unlimited"]
"""A soft limit of the examined process."""


SCHEDULERS = (("SLURM_JOB_ID", "Slurm"), ("PBS_JOBID", "PBS"), ("LSB_JOBID", "LSF"), ("KUBERNETES_SERVICE_HOST", "Kubernetes"))
"""The variable that each scheduler sets in a job."""


class DriverFile(Observed, frozen=True):
    """A file of the NVIDIA user-space driver."""

    path: str
    version: str | Missing = NOT_ASKED
    """The driver version at the end of its name or its target's: 550.163.01; absent: no such name."""


class Container(Observed, frozen=True):
    """The container that the examined processes run in."""

    runtime: str
    """docker, podman, kubernetes, containerd, lxc, apptainer, systemd-nspawn, or "unknown"."""
    where: str
    driver_files: tuple[DriverFile, ...] | Missing = NOT_ASKED
    """libcuda and libnvidia-ml as mounted by the runtime, from /proc/self/mountinfo, by mount point."""
    control: str | Missing = NOT_ASKED
    """The result of opening /dev/nvidiactl: "opened", or the error's name (EPERM). Only tried if the kernel driver is loaded."""
    image: Fact | Missing = NOT_ASKED
    """The image it was made from, if the runtime names it inside."""


class CdiSpec(Observed, frozen=True):
    """A Container Device Interface file, which says how a container gets a GPU."""

    path: str
    kind: str | Missing = NOT_ASKED
    """nvidia.com/gpu."""
    versions: tuple[str, ...] | Missing = NOT_ASKED
    """The driver versions in its library paths."""
    declares: str | Missing = NOT_ASKED
    """The CDI version that it declares: 0.5.0."""
    needs: str | Missing = NOT_ASKED
    """The oldest CDI version with all the fields it uses; an engine refuses unknown fields."""


class ContainerTools(Observed, frozen=True):
    """What this machine can run containers with, from files. Absent without a container engine."""

    engines: tuple[str, ...]
    """docker, podman, containerd, by their programs."""
    toolkit: tuple[str, ...]
    """Programs of the NVIDIA Container Toolkit, by path."""
    runtime: bool | Missing = NOT_ASKED
    """Whether /etc/docker/daemon.json has a runtime "nvidia"; absent: no such file."""
    cdi: tuple[CdiSpec, ...] | Missing = NOT_ASKED
    """The specifications for NVIDIA devices in /etc/cdi and /var/run/cdi."""
    cdi_asked_by: tuple[Fact, ...] | Missing = NOT_ASKED
    """Settings that give containers their GPUs by CDI, with their file."""


class LoaderCache(Observed, frozen=True):
    """/etc/ld.so.cache, which ldconfig writes and the loader reads."""

    driver_files: tuple[str, ...]
    """Its paths for libcuda.so.1 and libnvidia-ml.so.1."""


class SharedMemory(Observed, frozen=True):
    """The file system at /dev/shm, from statvfs and mountinfo. Sizes in bytes."""

    size: int
    free: int
    kind: str | Missing = NOT_ASKED
    """The file system's type: tmpfs."""


class Limits(Observed, frozen=True):
    """The limits of the examined process, from /proc/self/limits."""

    memlock: Limit | Missing = NOT_ASKED
    """Bytes of memory that may be locked."""
    open_files: Limit | Missing = NOT_ASKED
    shared_memory: SharedMemory | Missing = NOT_ASKED
    address_space: Limit | Missing = NOT_ASKED
    """Bytes that the process may map: ulimit -v."""
    address_space_hard: Limit | Missing = NOT_ASKED
    """The most that its user may raise that to."""


class Allocation(Observed, frozen=True):
    """What a scheduler assigned to the job of this process. Absent outside a job."""

    scheduler: str
    """Slurm, PBS, LSF or Kubernetes."""
    where: str
    gpus: tuple[str, ...] | Missing = NOT_ASKED
    """The assigned GPUs in the scheduler's notation; empty: the job has none; not-stated: this scheduler does not say."""
    gpus_where: str = ""
    constrained: bool | Missing = NOT_ASKED
    """Whether the job has its own control group, which can restrict its devices."""
    hidden: bool = False
    """Whether CUDA_VISIBLE_DEVICES=NoDevFiles hides every GPU, as Slurm sets it for a job without one."""


class Mps(Observed, frozen=True):
    """The folder of the CUDA Multi-Process Service. Absent if there is none."""

    directory: str
    where: str
    """The variable that names it, or "default"."""
    control: bool
    """Whether the control daemon's pipe exists."""


class Wsl(Observed, frozen=True):
    """The Windows Subsystem for Linux, version 2. The section is absent elsewhere."""

    device: bool
    """Whether /dev/dxg exists."""
    libraries: tuple[str, ...] | Missing = NOT_ASKED
    """The Windows driver's files in /usr/lib/wsl/lib; absent: no such folder."""
    linux_driver: tuple[DriverFile, ...] = ()
    """libcuda.so.1 in the system's own folders, unless it stands in for the Windows driver's."""
    packages: tuple[str, ...] | Missing = NOT_ASKED
    """Installed packages with a Linux driver, from dpkg's status file; absent: no dpkg."""
    loader_conf: str | Missing = NOT_ASKED
    """The file below /etc/ld.so.conf.d that names /usr/lib/wsl/lib."""
    memory: int | Missing = NOT_ASKED
    """Bytes of memory that the virtual machine has, MemTotal of /proc/meminfo."""
