"""GD3: containers: what the runtime did not put in, took away again, or put in by halves."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Site
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.derive.nodes import all_withheld
from gpudoctor.diagnose.fixes import ROOT, shell_path
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.access import is_needed
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import (
    Cause,
    Container,
    DeviceNodes,
    DriverFile,
    Fact,
    Host,
    KernelDriver,
    Libcuda,
    LoaderCache,
    Missing,
    Nvml,
    Pci,
    Snapshot,
    Status,
    Variables,
)

DEVICES, _CAPABILITIES = "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"
NO_DEVICES = ("", "none", "void")
_NVML_UNKNOWN = 999


@rule("GD301", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, since="0.1")
def container_no_gpu_access(
    snapshot: Snapshot, site: Site, nodes: DeviceNodes | Missing, nvml: Nvml | Missing, libcuda: Libcuda | Missing
) -> Iterator[Problem]:
    """The container was started without the GPU's devices or without the driver's libraries.

    ## Why it matters
    A container sees a GPU only if its runtime puts the device files and the host's driver libraries into it. Without that,
    everything inside may be in order and still no program sees a GPU, though /proc and /sys show the host's.

    ## What to do
    Start the container with the GPU: `docker run --gpus all`, `podman run --device nvidia.com/gpu=all`, in Kubernetes a resource
    request for nvidia.com/gpu. If NVIDIA_VISIBLE_DEVICES is void or none, or NVIDIA_DRIVER_CAPABILITIES lacks compute, the image or
    the pod says so on purpose. Do not install a driver inside the container.

    ## References
    - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/
    """
    if not site.container:
        not_applicable("not in a container")
    if isinstance(nodes, Missing) and nodes.cause is not Cause.ABSENT:
        need(nodes, Rung.DEVICE_NODE)
    works = isinstance(nvml, Nvml) and isinstance(nvml.init, Status) and not nvml.init.code
    given = mounted(snapshot.container)
    has_nodes = has_devices(nodes, proven=works or bool(given))
    lacking = _lacking(nvml, libcuda, given, works=works) if has_nodes else "the GPU's device files"
    if not lacking:
        return
    host = host_has(snapshot.kernel_driver, snapshot.pci)
    if not host and not works and not site.on_wsl:
        not_applicable("neither /proc nor /sys shows that the host has an NVIDIA driver")
    known = host or ("NVML works here" if works else "WSL may have one")
    why = _said_so(snapshot.variables)
    yield Problem(
        message=f"This {site.container} container was not given {lacking}, although {known}{': ' + why if why else ''}.",
        confidence=Confidence.CERTAIN if host or works else Confidence.POSSIBLE,
        evidence=(
            Evidence("device files", listed(nodes), "/dev"),
            Evidence("libcuda", "found" if isinstance(libcuda, Libcuda) else libcuda.reason, "the loader"),
            *asked_for(snapshot.variables),
        ),
        fixes=(_compute(site, image(snapshot.container)) if has_nodes else _started(site, image(snapshot.container)),),
    )


def has_devices(nodes: DeviceNodes | Missing, *, proven: bool) -> bool:
    """Whether the GPU's device files are there; plain files of the same names are none, unless something else makes them `proven`."""
    needed = [node for node in nodes.nodes if is_needed(node)] if isinstance(nodes, DeviceNodes) else []
    plain = [node for node in needed if isinstance(node.major, Missing) and node.major.cause is Cause.ABSENT]
    return bool(needed) and (proven or len(plain) < len(needed))


def _lacking(nvml: Nvml | Missing, libcuda: Libcuda | Missing, given: tuple[DriverFile, ...], *, works: bool) -> str:
    """What of the driver's libraries was not put in; empty where all was, or where that is not what is wrong."""
    if isinstance(libcuda, Libcuda) or libcuda.cause is not Cause.ABSENT or any("libcuda" in file.path for file in given):
        return ""
    if isinstance(nvml, Missing) and nvml.cause is Cause.ABSENT and not given:
        return "the driver's libraries"
    return "the driver's libcuda" if works or given else ""


def mounted(container: Container | Missing) -> tuple[DriverFile, ...]:
    """The driver's libraries that the runtime put in."""
    return container.driver_files if isinstance(container, Container) and isinstance(container.driver_files, tuple) else ()


def listed(nodes: DeviceNodes | Missing) -> str:
    """The device files by path, and which of them are only named so."""
    if isinstance(nodes, Missing):
        return "none"
    plain = {node.path for node in nodes.nodes if isinstance(node.major, Missing) and node.major.cause is Cause.ABSENT}
    return ", ".join(f"{node.path}{' (a plain file)' if node.path in plain else ''}" for node in nodes.nodes)


IMAGE = "IMAGE"
"""Stands for the container's image, where the runtime does not say inside which it is."""


def image(container: Container | Missing) -> str:
    """The image that the container was made from, as a shell reads it."""
    said = container.image if isinstance(container, Container) else container
    return shlex.quote(said.value) if isinstance(said, Fact) else IMAGE


def _started(site: Site, name: str) -> Fix:
    fix = _START.get(site.container, _START["docker"])
    return msgspec.structs.replace(fix, command=fix.command.replace(IMAGE, name))


def _compute(site: Site, name: str) -> Fix:
    title = f"Start it with the driver's compute libraries: {_CAPABILITIES} must be unset or hold compute"
    start = {"docker": "docker run --rm --gpus all", "podman": "podman run --rm --device nvidia.com/gpu=all"}.get(site.container)
    return Fix(title, f"{start} -e {_CAPABILITIES}=compute,utility {name} nvidia-smi") if start else Fix(f"{title}.")


_START = {
    "docker": Fix("Start it with the GPU", "docker run --rm --gpus all IMAGE nvidia-smi"),
    "podman": Fix("Start it with the GPU", "podman run --rm --device nvidia.com/gpu=all IMAGE nvidia-smi"),
    "kubernetes": Fix("Request the GPU in the pod: resources.limits with nvidia.com/gpu: 1."),
    "apptainer": Fix("Start it with the GPU", "apptainer exec --nv IMAGE nvidia-smi"),
    "lxc": Fix("Give the container the GPU, on the host", "lxc config device add CONTAINER gpu gpu", (ROOT,)),
}


def host_has(kernel_driver: KernelDriver | Missing, pci: Pci | Missing) -> str:
    """How we know that the host could give a GPU; empty where nothing says so."""
    if isinstance(kernel_driver, KernelDriver) and isinstance(kernel_driver.version, Fact):
        return f"the host has NVIDIA driver {kernel_driver.version.value} loaded"
    bound = isinstance(pci, Pci) and any(is_gpu(device) and device.driver == "nvidia" for device in pci.devices)
    return "the host's NVIDIA driver holds a GPU" if bound else ""


def _said_so(variables: Variables | Missing) -> str:
    """What in the environment explains it."""
    values = variables.values if isinstance(variables, Variables) else {}
    if values.get(DEVICES, "all") in NO_DEVICES:
        return f"{DEVICES} is {values[DEVICES] or 'empty'}"
    asked = [word.strip() for word in values.get(_CAPABILITIES, "").split(",") if word.strip()]
    return f"{_CAPABILITIES} is {','.join(asked)}, without compute" if asked and not {"all", "compute"} & set(asked) else ""


def asked_for(variables: Variables | Missing) -> tuple[Evidence, ...]:
    """What the image or its user asked the runtime for."""
    values = variables.values if isinstance(variables, Variables) else {}
    return tuple(Evidence(name, values[name] or "empty", "environment") for name in (DEVICES, _CAPABILITIES) if name in values)


@rule("GD303", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, since="0.1", predicts=False)
def container_cgroup_device_lost(
    site: Site, container: Container | Missing, nodes: DeviceNodes | Missing, nvml: Nvml | Missing, host: Host | Missing
) -> Iterator[Problem]:
    """The container's control group refuses the GPU's device files, although they are there.

    ## Why it matters
    A container opens a device only if its control group allows it, whatever the file's permissions say. With systemd as the
    runtime's control group driver, a `systemctl daemon-reload` on the host (any package upgrade does one) writes the rules anew and
    forgets devices that it was not told of: a running container loses its GPU, and NVML says "Unknown Error". The same is seen where
    the files were mounted or made by hand, without `--device` or `--gpus`.

    ## What to do
    Restart the container. To keep it from happening again use CDI, or name the devices with `--device`, or let the toolkit make the
    links in /dev/char that systemd looks for.

    ## References
    - https://github.com/NVIDIA/nvidia-container-toolkit/issues/48
    """
    if not site.container:
        not_applicable("not in a container")
    if not has_devices(nodes, proven=True):
        not_applicable("there are no device files")
    control = need(container).control
    said = isinstance(nvml, Nvml) and isinstance(nvml.init, Status) and nvml.init.code == _NVML_UNKNOWN
    refused = control == "EPERM" or all_withheld(nodes, host)
    if not refused and not (said and isinstance(control, Missing)):
        need(control, Rung.DEVICE_NODE)
        return
    yield Problem(
        message="The GPU's device files are there, with permissions that allow it, and opening them is refused: the container's control "
        "group does not allow it."
        if refused
        else 'NVML says "Unknown Error" in a container that has the device files: its control group may have lost them.',
        confidence=Confidence.CERTAIN if refused else Confidence.POSSIBLE,
        evidence=(
            Evidence("opening /dev/nvidiactl", control if isinstance(control, str) else control.reason, "open"),
            *((Evidence("nvmlInit", f"{_NVML_UNKNOWN} Unknown Error", "NVML"),) if said else ()),
        ),
        fixes=_RENEW
        if refused
        else (Fix("See whether it can be opened: EPERM is the control group", "cat /dev/nvidiactl", kind=FixKind.CHECK), *_RENEW),
    )


_RENEW = (
    Fix("Restart the container."),
    Fix(
        "On the host, create the links that systemd looks for, so it keeps the devices; start containers by CDI or --device",
        "sudo nvidia-ctk system create-dev-char-symlinks --create-all",
        (ROOT,),
    ),
)


@rule("GD304", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def container_ldcache_stale(
    site: Site, container: Container | Missing, cache: LoaderCache | Missing, nvml: Nvml | Missing, libcuda: Libcuda | Missing
) -> Iterator[Problem]:
    """The driver's libraries are mounted into the container, and the loader does not find them.

    ## Why it matters
    The runtime mounts libcuda.so.550.163.01 and then runs ldconfig, which makes the link libcuda.so.1 and lists it in
    /etc/ld.so.cache. Where that step fails (an image without ldconfig, a read-only root, a path that the toolkit's configuration
    gets wrong) the libraries are there and no program finds them.

    ## What to do
    Run ldconfig in the container, at start. Do not install a driver inside it.

    ## References
    - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/troubleshooting.html
    """
    if not site.container:
        not_applicable("not in a container")
    given = need(need(container).driver_files)
    lost = [
        file
        for name, section in (("libcuda.so", libcuda), ("libnvidia-ml.so", nvml))
        for file in given
        if _file_name(file).startswith(name) and isinstance(section, Missing) and section.cause is Cause.ABSENT
    ]
    if not lost:
        return
    known = ", ".join(cache.driver_files) or "neither" if isinstance(cache, LoaderCache) else cache.reason
    where = lost[0].path.rpartition("/")[0]
    private = where.startswith("/.singularity.d")
    yield Problem(
        message=f"{' and '.join(file.path for file in lost)} {'is' if len(lost) == 1 else 'are'} mounted, and the loader finds no "
        f"{' and no '.join(_file_name(file).partition('.so')[0] for file in lost)}.",
        evidence=(
            *(Evidence("mounted by the runtime", file.path, "/proc/self/mountinfo") for file in lost),
            Evidence("libcuda.so.1 and libnvidia-ml.so.1 in the loader's cache", known, "/etc/ld.so.cache"),
        ),
        fixes=(
            Fix(
                "Keep the path that the runtime sets",
                f'export LD_LIBRARY_PATH={shell_path(where)}"${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"',
            )
            if private
            else Fix("Run ldconfig in the container, as root", "ldconfig", (ROOT,)),
        ),
    )


def _file_name(file: DriverFile) -> str:
    """The last part of its path."""
    return file.path.rpartition("/")[2]


RULES = (container_no_gpu_access, container_cgroup_device_lost, container_ldcache_stale)
