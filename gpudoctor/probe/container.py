"""The container that the examined processes run in, if any."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping

import msgspec

from gpudoctor.probe import files
from gpudoctor.probe.driver_files import mounted_libraries
from gpudoctor.snapshot import Cause, Container, Fact, Missing, printable_text

MARKER_FILES = (
    ("apptainer", "/.singularity.d"),
    ("podman", "/run/.containerenv"),
    ("docker", "/.dockerenv"),
    ("kubernetes", "/run/secrets/kubernetes.io"),
    ("kubernetes", "/var/run/secrets/kubernetes.io"),
    ("lxc", "/dev/lxd/sock"),
    ("lxc", "/dev/incus/sock"),
)
"""Files that a runtime leaves in its containers."""

CGROUP_WORDS = (
    ("kubernetes", "kubepods"),
    ("docker", "/docker/"),
    ("docker", "/docker-"),
    ("docker", "/ecs/"),
    ("podman", "libpod"),
    ("lxc", "/lxc/"),
    ("lxc", "/lxc.payload"),
    ("containerd", "cri-containerd"),
    ("systemd-nspawn", "machine.slice/systemd-nspawn"),
)
"""What the path of a container's control group contains; useless under version 2 with a cgroup namespace."""

MOUNT_WORDS = (
    ("kubernetes", "/kubelet/pods/"),
    ("docker", "/docker/"),
    ("podman", "/containers/storage/"),
    ("containerd", "/io.containerd."),
    ("lxc", "lxcfs"),
)
"""Where the host keeps what a runtime mounts into its containers."""

CONTAINER_MOUNTS = ("/", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/proc/meminfo")
"""Where a runtime mounts it; elsewhere the same words mean that this is the host."""

RUNTIME_NAMES = {"lxc-libvirt": "lxc", "singularity": "apptainer", "wsl": ""}
"""systemd's names for containers that differ from ours; WSL 2 is not a container here."""


CONTROL_DEVICE = "/dev/nvidiactl"


def container(root: str, environ: Mapping[str, str]) -> Container | Missing:
    """The container, with evidence, and what its runtime mounted or set.

    Kubernetes comes first, because its pods are also containers of another runtime.
    """
    mounts = files.read_text("/proc/self/mountinfo", root, 4 << 20)
    found = list(_container_evidence(root, environ, mounts))
    found.sort(key=lambda mark: mark[0] != "kubernetes")
    if found:
        bare = Container(runtime=found[0][0], where=found[0][1])
        return msgspec.structs.replace(
            bare, driver_files=mounted_libraries(mounts), control=_control_device_result(root), image=_image_name(root, environ)
        )
    unseen = files.read_text("/proc/self/cgroup", root)
    if isinstance(unseen, Missing) and unseen.cause is not Cause.ABSENT:
        return unseen
    return Missing(Cause.ABSENT, "no sign of a container runtime in files, control groups, mounts or environment")


def _control_device_result(root: str) -> str | Missing:
    """What opening the driver's control device returns: control groups refuse with EPERM, which permission bits do not show.

    It opens no GPU. It is skipped without the kernel module, because the kernel would then try to load one.
    """
    if not files.exists("/proc/driver/nvidia/version", root):
        return Missing(Cause.UNSUPPORTED, "skipped because the NVIDIA kernel driver is not loaded")
    try:
        os.close(os.open(files.path_in_tree(root, CONTROL_DEVICE), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY))
    except OSError as error:
        return (
            files.missing_file(CONTROL_DEVICE, error)
            if error.errno == errno.ENOENT
            else errno.errorcode.get(error.errno or 0, str(error.errno))
        )
    return "opened"


def _image_name(root: str, environ: Mapping[str, str]) -> Fact | Missing:
    """Podman records it for some containers, Apptainer in a variable; Docker and Kubernetes do not pass it on."""
    for line in files.lines_or_empty("/run/.containerenv", root):
        key, _, value = line.partition("=")
        if key == "image" and value.strip('"'):
            return Fact(printable_text(value.strip('"'))[:300], "/run/.containerenv")
    for variable in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        if environ.get(variable):
            return Fact(printable_text(environ[variable])[:300], variable)
    return Missing(Cause.ABSENT, "the runtime does not name the image inside the container")


def _container_evidence(root: str, environ: Mapping[str, str], mounts: str | Missing) -> Iterator[tuple[str, str]]:
    if "KUBERNETES_SERVICE_HOST" in environ:
        yield "kubernetes", "environment variable KUBERNETES_SERVICE_HOST"
    for variable in ("APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"):
        if variable in environ:
            yield "apptainer", f"environment variable {variable}"
    yield from _marker_evidence(root)
    groups = files.text_or_empty("/proc/self/cgroup", root)
    for runtime, pattern in CGROUP_WORDS:
        if pattern in groups:
            yield runtime, f"/proc/self/cgroup ({pattern.strip('/')})"
    yield from _declared_runtimes(root)
    lines = [line for line in mounts.splitlines() if _mount_point(line) in CONTAINER_MOUNTS] if isinstance(mounts, str) else []
    for runtime, pattern in MOUNT_WORDS:
        if any(pattern in line for line in lines):
            yield runtime, f"/proc/self/mountinfo ({pattern.strip('/')})"


def _marker_evidence(root: str) -> Iterator[tuple[str, str]]:
    """The files of MARKS.

    Skipped if pid 2 is a kernel thread: virtual machines are made from container images too, marks and all. A container that shares
    the host's processes is found by its mounts.
    """
    if files.text_or_empty("/proc/2/comm", root).strip() == "kthreadd":
        return
    for runtime, path in MARKER_FILES:
        if files.exists(path, root):
            yield runtime, path


def _mount_point(line: str) -> str:
    """The fifth field of a line (proc_pid_mountinfo(5))."""
    return (line.split(" ", 5) + [""] * 5)[4]


def _declared_runtimes(root: str) -> Iterator[tuple[str, str]]:
    """The name that the manager passes to the first process, which systemd records."""
    for path in ("/run/systemd/container", "/run/host/container-manager"):
        if name := files.text_or_empty(path, root, 256).strip():
            yield from _runtime_evidence(name, path)
    for entry in files.text_or_empty("/proc/1/environ", root).split("\0"):
        if entry.startswith("container="):
            yield from _runtime_evidence(entry.partition("=")[2], "/proc/1/environ (container=)")


def _runtime_evidence(word: str, where: str) -> Iterator[tuple[str, str]]:
    name = RUNTIME_NAMES.get(word, word)
    if name == "oci":  # OCI's name for any runtime
        name = "unknown"
    if name:
        yield name, where
