"""Machines that differ in their surroundings: containers, their hosts, WSL, scheduler jobs."""

from __future__ import annotations

from dataclasses import replace

from tests.machines.recipes.base import Recipe, cards, healthy
from tests.seams import Cuda, Nvml, Tree

DRIVER = "550.163.01"
FOLDER = "/usr/lib/x86_64-linux-gnu"
MOUNTS = "601 487 0:52 / / rw,relatime - overlay overlay rw\n" + "".join(
    f"{number} 601 8:1 {FOLDER}/{name}.{DRIVER} {FOLDER}/{name}.{DRIVER} ro,nosuid,nodev,relatime - ext4 /dev/sda1 rw\n"
    for number, name in ((700, "libcuda.so"), (701, "libnvidia-ml.so"))
)
"""As the NVIDIA Container Toolkit mounts them."""


def cache(*paths: str) -> bytes:
    """The beginning and the strings of an ld.so.cache that lists the paths."""
    return b"glibc-ld.so.cache1.1" + bytes(28) + b"".join(b"\0" + path.encode() for path in ("/lib/libc.so.6", *paths)) + b"\0"


LISTED = cache(f"{FOLDER}/libcuda.so.1", f"{FOLDER}/libnvidia-ml.so.1")


def within(container: str, gpus: int = 1, **changes: object) -> Tree:
    """A container with all GPUs of a host with that many, and shared memory of some size."""
    mounts: dict[str, str | bytes] = {"proc/self/mountinfo": MOUNTS, "etc/ld.so.cache": LISTED, "dev/shm/.keep": ""}
    whole = Tree(pci=cards(gpus), kernel_driver=DRIVER, container=container, files=mounts)
    return replace(whole, **changes)  # type: ignore[arg-type]


def hosting(**files: str) -> Tree:
    """A host with an A100 and Docker."""
    return Tree(pci=cards(1), kernel_driver=DRIVER, files={"usr/bin/dockerd": "", "usr/bin/containerd": "", **files})


TOOLKIT = {"usr/bin/nvidia-ctk": "", "usr/bin/nvidia-container-runtime": ""}
DAEMON = '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}}\n'


def specification(driver: str) -> str:
    return (
        "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: all\ncontainerEdits:\n  mounts:\n"
        f"  - hostPath: {FOLDER}/libcuda.so.{driver}\n    containerPath: {FOLDER}/libcuda.so.{driver}\n"
    )


WINDOWS = {f"usr/lib/wsl/lib/{name}": "" for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libdxcore.so")}
CONF = {"etc/ld.so.conf.d/ld.wsl.conf": "/usr/lib/wsl/lib\n"}
DPKG = (
    "Package: bash\nStatus: install ok installed\nVersion: 5.2\n\n"
    "Package: libnvidia-compute-550\nStatus: install ok installed\nArchitecture: amd64\nVersion: 550.163.01-0ubuntu1\n\n"
    "Package: nvidia-utils-550\nStatus: deinstall ok config-files\nVersion: 550.163.01-0ubuntu1\n\n"
)
LINUX_DRIVER = {f"{FOLDER[1:]}/libcuda.so.1": "", "var/lib/dpkg/status": DPKG}
REFUSING = (Nvml(gpus=1, calls={"nvmlInit": "return 9"}), Cuda(gpus=1, calls={"cuInit": "return 100"}))


def on_wsl(gpus: int = 1, *, nodes: tuple[str, ...] | None = None, files: dict[str, str] | None = None, **changes: object) -> Recipe:
    """A healthy WSL 2 with the Windows driver."""
    tree = Tree(platform="wsl", nodes=nodes, files={**WINDOWS, **CONF, **(files or {})})
    return healthy(gpus, tree=tree, **changes)


def in_slurm(cgroup: str = "0::/system.slice/slurmstepd.scope/job_77/step_0/user/task_0\n") -> Tree:
    """A node with eight A100, seen from a job's control group."""
    return Tree(pci=cards(8), kernel_driver=DRIVER, files={"proc/self/cgroup": cgroup})


JOB = {"SLURM_JOB_ID": "77"}
NONE_SHOWN = (Nvml(gpus=0), Cuda(gpus=8, calls={"cuInit": "return 100"}))
SHARE = [Nvml(gpus=8).cards[index] for index in (2, 5)]

RECIPES: dict[str, Recipe] = {
    "container-given-its-gpus": healthy(
        2,
        about="a container to which two GPUs were named and given",
        tree=within("docker", 2),
        environment={"NVIDIA_VISIBLE_DEVICES": "0,1", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
    ),
    "container-given-one-gpu": healthy(about="a container with one GPU", tree=within("docker")),
    "container-named-gpus-none-came": Recipe(
        about="GPUs were named in NVIDIA_VISIBLE_DEVICES and the runtime did nothing about it",
        tree=within("docker", 2, nodes=(), files={}),
        environment={"NVIDIA_VISIBLE_DEVICES": "0,1"},
        verdict="broken",
        roots=("container-toolkit-missing",),
        folded=("container-no-gpu-access",),
    ),
    "container-asks-for-none": Recipe(
        about="NVIDIA_VISIBLE_DEVICES=none: no GPU on purpose",
        tree=within("podman", nodes=(), files={}),
        environment={"NVIDIA_VISIBLE_DEVICES": "none"},
        verdict="broken",
        roots=("container-no-gpu-access",),
    ),
    "container-libraries-not-in-cache": Recipe(
        about="the driver's libraries are mounted, ldconfig did not run",
        tree=within("docker", files={"proc/self/mountinfo": MOUNTS, "etc/ld.so.cache": cache()}),
        verdict="broken",
        roots=("container-ldcache-stale",),
    ),
    "host-docker-without-toolkit": healthy(
        about="a host with Docker and without the NVIDIA Container Toolkit", tree=hosting(), notes=("container-toolkit-missing",)
    ),
    "host-docker-with-toolkit": healthy(
        about="a host with Docker, the toolkit and a specification of the driver at work",
        tree=hosting(**TOOLKIT, **{"etc/docker/daemon.json": DAEMON, "etc/cdi/nvidia.yaml": specification(DRIVER)}),
    ),
    "host-cdi-of-former-driver": healthy(
        about="a specification that names the driver before the upgrade",
        tree=hosting(**TOOLKIT, **{"var/run/cdi/nvidia.yaml": specification("535.183.01")}),
        notes=("container-cdi-spec-stale",),
    ),
    "wsl-in-order": on_wsl(about="WSL 2 with an A100 and the driver of Windows"),
    "wsl-loader-not-told": on_wsl(
        about="Windows' libraries are there, /etc/ld.so.conf.d says nothing of them",
        files={"etc/ld.so.conf.d/ld.wsl.conf": "/opt/lib\n"},
        libraries=(),
        verdict="broken",
        roots=("wsl-libcuda-not-on-path",),
    ),
    "wsl-without-dxg": on_wsl(
        about="no /dev/dxg: the Windows driver is not exposed in WSL",
        nodes=(),
        libraries=REFUSING,
        verdict="broken",
        roots=("wsl-driver-stack-broken",),
        folded=("cuda-init-fails",),
    ),
    "wsl-both-libraries-refuse": on_wsl(
        about="/dev/dxg and the libraries are there, NVML and libcuda refuse",
        libraries=REFUSING,
        verdict="broken",
        roots=("wsl-driver-stack-broken",),
        folded=("cuda-init-fails",),
    ),
    "wsl-with-linux-driver": on_wsl(
        about="a Linux driver installed inside WSL, CUDA finds no device",
        files=LINUX_DRIVER,
        libraries=REFUSING,
        verdict="broken",
        roots=("wsl-linux-driver-installed",),
        folded=("cuda-init-fails", "wsl-driver-stack-broken"),
    ),
    "wsl-linux-driver-not-in-the-way": on_wsl(
        about="a Linux driver installed inside WSL, and Windows' libcuda is the one that works all the same",
        files=LINUX_DRIVER,
        notes=("wsl-linux-driver-installed",),
    ),
    "wsl-two-gpus": on_wsl(2, about="two GPUs under WSL 2", notes=("wsl-multi-gpu-limit",)),
    "wsl-with-little-memory": on_wsl(
        about="WSL with 8 GiB of memory beside a GPU with 80",
        files={"proc/meminfo": "MemTotal:        8131000 kB\nMemFree:         7000000 kB\n"},
        notes=("wsl-pinned-memory-limit",),
    ),
    "wsl-version-1": Recipe(
        about="WSL 1",
        tree=Tree(kernel="4.4.0-19041-Microsoft"),
        verdict="broken",
        roots=("wsl1",),
    ),
    "slurm-two-of-eight": healthy(
        8,
        about="a Slurm job that was assigned two of eight GPUs and can open no other",
        tree=in_slurm(),
        libraries=(Nvml(gpus=SHARE), Cuda(gpus=SHARE)),
        environment={**JOB, "SLURM_JOB_GPUS": "2,5", "CUDA_VISIBLE_DEVICES": "0,1"},
    ),
    "slurm-none-allotted": healthy(
        8,
        about="a Slurm job that asked for no GPU, on a node with eight that it may not open",
        tree=in_slurm(),
        libraries=NONE_SHOWN,
        environment=JOB,
        verdict="broken",
        roots=("scheduler-gpu-not-allocated",),
    ),
    "slurm-none-allotted-and-hidden": healthy(
        8,
        about="the same where Slurm only hides the GPUs, as older releases do",
        tree=in_slurm("0::/system.slice/slurmd.service\n"),
        environment={**JOB, "CUDA_VISIBLE_DEVICES": "NoDevFiles"},
        verdict="broken",
        roots=("scheduler-gpu-not-allocated",),
        folded=("cuda-init-fails", "cuda-visible-devices-masked"),
    ),
    "slurm-node-without-gpu": Recipe(
        about="a Slurm job that asked for no GPU and was sent to a node without",
        tree=Tree(files={"proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_77/step_0\n"}),
        environment=JOB,
        verdict="broken",
        roots=("scheduler-gpu-not-allocated",),
        folded=("no-gpu",),
    ),
    "pod-without-request": Recipe(
        about="a Kubernetes pod that requested no GPU, on a node with a loaded driver",
        tree=within("kubernetes", nodes=(), files={}),
        environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1", "NVIDIA_VISIBLE_DEVICES": "all"},
        verdict="broken",
        roots=("scheduler-gpu-not-allocated",),
        folded=("container-no-gpu-access",),
    ),
    "pod-with-gpu": healthy(
        about="a Kubernetes pod that was assigned a GPU",
        tree=within("kubernetes"),
        environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1", "NVIDIA_VISIBLE_DEVICES": "GPU-a1000000-1c2d-3e4f-5a6b-700000000000"},
    ),
}
