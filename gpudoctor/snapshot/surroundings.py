"""What was observed around the examined processes: container, its tools, loader cache, limits, scheduler, MPS, WSL."""

from __future__ import annotations

from typing import Literal

from gpudoctor.snapshot.values import NOT_ASKED, Fact, Missing, Observed

Limit = int | Literal["unlimited"]
"""A soft limit of the examined process."""


class DriverFile(Observed, frozen=True):
    """A file of the NVIDIA user-space driver."""

    path: str
    version: str | Missing = NOT_ASKED
    """The release that its name, or the name of the file it stands for, ends with: 550.163.01; absent: no such name."""


class Container(Observed, frozen=True):
    """The container that the examined processes run in."""

    runtime: str
    """docker, podman, kubernetes, containerd, lxc, apptainer, systemd-nspawn, or "unknown"."""
    where: str
    driver_files: tuple[DriverFile, ...] | Missing = NOT_ASKED
    """libcuda and libnvidia-ml as the runtime mounted them, from /proc/self/mountinfo, each by where it is mounted."""
    control: str | Missing = NOT_ASKED
    """What opening /dev/nvidiactl gave: "opened", or the error's name (EPERM). Tried only where the kernel driver is loaded."""
    image: Fact | Missing = NOT_ASKED
    """The image that it was made from, where the runtime says so inside."""


class CdiSpec(Observed, frozen=True):
    """A Container Device Interface file that says how a container is given a GPU."""

    path: str
    kind: str | Missing = NOT_ASKED
    """nvidia.com/gpu."""
    versions: tuple[str, ...] | Missing = NOT_ASKED
    """The driver releases that its library paths name."""
    declares: str | Missing = NOT_ASKED
    """The version of the CDI specification that it says it follows: 0.5.0."""
    needs: str | Missing = NOT_ASKED
    """The oldest version of the CDI specification that has all fields it uses; an engine refuses fields it does not know."""


class ContainerTools(Observed, frozen=True):
    """What this machine has to run containers with, by looking for files. The section is absent where it has no engine."""

    engines: tuple[str, ...]
    """docker, podman, containerd, by their programs."""
    toolkit: tuple[str, ...]
    """Programs of the NVIDIA Container Toolkit, by path."""
    runtime: bool | Missing = NOT_ASKED
    """Whether /etc/docker/daemon.json names a runtime "nvidia"; absent: there is no such file."""
    cdi: tuple[CdiSpec, ...] | Missing = NOT_ASKED
    """The specifications for NVIDIA devices in /etc/cdi and /var/run/cdi."""
    cdi_asked_by: tuple[Fact, ...] | Missing = NOT_ASKED
    """Configuration that has containers given their GPUs by CDI, and the file that says so."""


class LoaderCache(Observed, frozen=True):
    """/etc/ld.so.cache, which ldconfig writes and the loader reads."""

    driver_files: tuple[str, ...]
    """The paths that it gives for libcuda.so.1 and libnvidia-ml.so.1."""


class SharedMemory(Observed, frozen=True):
    """The file system at /dev/shm, from statvfs and mountinfo. Sizes in bytes."""

    size: int
    free: int
    kind: str | Missing = NOT_ASKED
    """The file system's type: tmpfs."""


class Limits(Observed, frozen=True):
    """What the examined process may use, from /proc/self/limits."""

    memlock: Limit | Missing = NOT_ASKED
    """Bytes of memory that may be locked."""
    open_files: Limit | Missing = NOT_ASKED
    shared_memory: SharedMemory | Missing = NOT_ASKED


class Allocation(Observed, frozen=True):
    """What a scheduler gave to the job that we run in. The section is absent outside a job."""

    scheduler: str
    """Slurm, PBS, LSF or Kubernetes."""
    where: str
    gpus: tuple[str, ...] | Missing = NOT_ASKED
    """The allotted GPUs in the scheduler's own words; none: the job has none; not-stated: this scheduler does not say."""
    gpus_where: str = ""
    constrained: bool | Missing = NOT_ASKED
    """Whether the job has a control group of its own, by which its devices can be limited."""
    hidden: bool = False
    """Whether CUDA_VISIBLE_DEVICES=NoDevFiles keeps CUDA from every GPU, as Slurm sets it for a job without one."""


class Mps(Observed, frozen=True):
    """The folder of the CUDA Multi-Process Service. The section is absent where there is none."""

    directory: str
    where: str
    """The variable that names it, or "default"."""
    control: bool
    """Whether the control daemon's pipe is there."""


class Wsl(Observed, frozen=True):
    """The Windows Subsystem for Linux, version 2. The section is absent elsewhere."""

    device: bool
    """Whether /dev/dxg is there."""
    libraries: tuple[str, ...] | Missing = NOT_ASKED
    """The names of what Windows' driver shows in /usr/lib/wsl/lib; absent: the folder is not there."""
    linux_driver: tuple[DriverFile, ...] = ()
    """libcuda.so.1 in the system's own folders, where it does not stand for a file of Windows' driver."""
    packages: tuple[str, ...] | Missing = NOT_ASKED
    """Installed packages that hold a Linux driver, from dpkg's status file; absent: there is no dpkg."""
    loader_conf: str | Missing = NOT_ASKED
    """The file below /etc/ld.so.conf.d that names /usr/lib/wsl/lib."""
    memory: int | Missing = NOT_ASKED
    """Bytes of memory that the virtual machine has, MemTotal of /proc/meminfo."""
