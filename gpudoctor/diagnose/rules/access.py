"""GD2 and GD3: a driver that is there and cannot be used: permissions, hangs, failing initialisation, containers without GPU."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.codes import CUDA_CANDIDATES
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, DeviceNodes, Fact, Hang, Host, KernelDriver, Libcuda, Missing, Node, Nvml, Pci, Snapshot, Status

_NVML_NO_PERMISSION = 4
_NEEDED_NODES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dxg")


@rule("GD204", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, since="0.1")
def device_permission_denied(nodes: DeviceNodes | Missing, nvml: Nvml | Missing, host: Host | Missing, site: Site) -> Iterator[Problem]:
    """The user may not open the GPU's device files.

    ## Why it matters
    NVML and CUDA reach the driver through /dev/nvidiactl, /dev/nvidia-uvm and a /dev/nvidiaN for each GPU. A user who may not read
    and write them sees no GPU, while root sees all: a check that runs as root cannot find this.

    ## What to do
    Join the group that owns the files, and log in again. Where they belong to root alone, the driver was told so
    (NVreg_DeviceFileMode, or a udev rule). In a rootless container add the group with `--group-add keep-groups`.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """
    if isinstance(nodes, Missing):
        if nodes.cause is Cause.ABSENT:
            not_applicable("there are no device files")
        need(nodes, Rung.DEVICE_NODE)
        return
    shut = [node for node in nodes.nodes if node.accessible is False and _needed(node)]
    refused = isinstance(nvml, Nvml) and isinstance(nvml.init, Status) and nvml.init.code == _NVML_NO_PERMISSION
    if not shut and not refused:
        return
    user = f"uid {host.uid}" if isinstance(host, Host) and isinstance(host.uid, int) else "this user"
    what = ", ".join(node.path for node in shut) or "NVML (no permission)"
    yield Problem(
        message=f"{user} may not open {what}.",
        evidence=tuple(Evidence(node.path, _permissions(node), "stat") for node in shut)
        or (Evidence("nvmlInit", f"{_NVML_NO_PERMISSION} no permission", "NVML"),),
        fixes=(_permission_fix(shut, site),),
    )


def _needed(node: Node) -> bool:
    return node.path in _NEEDED_NODES or node.path.removeprefix("/dev/nvidia").isdigit()


def _permissions(node: Node) -> str:
    group = node.group if isinstance(node.group, str) else f"gid {node.gid}"
    return f"mode {node.mode}, owner uid {node.uid}, group {group}"


def _permission_fix(shut: list[Node], site: Site) -> Fix:
    if site.container:
        return Fix("Run the container as a user of the group that owns the files, or with --group-add for that group.")
    group = next((node.group for node in shut if isinstance(node.group, str) and node.group != "root"), "")
    if group:
        return Fix(f"Join the group {group}, then log in again", f'sudo usermod -aG {group} "$USER"', ("root",), "nvidia-smi -L")
    return Fix(
        "Let everybody use the GPU, as the driver does by default, then reboot",
        "echo options nvidia NVreg_DeviceFileMode=0666 | sudo tee /etc/modprobe.d/nvidia-permissions.conf",
        ("root", "reboot"),
        "nvidia-smi -L",
    )


HANG_SECONDS = 30
"""A call that has not returned after this long is hung; less is only slow, as on eight cards without persistence mode."""


@rule("GD205", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", predicts=False)
def driver_hung(nvml: Nvml | Missing, libcuda: Libcuda | Missing) -> Iterator[Problem]:
    """A call into the driver does not return.

    ## Why it matters
    The driver waits for a GPU, or for itself. Every program that calls it will wait too, and a process in an uninterruptible call
    (state D) cannot even be killed.

    ## What to do
    Reboot; a hung driver does not recover. Before that, save the kernel's log, which mostly names the GPU (Xid 79, 119, 120): if it
    hangs again on the same one, the card or its slot is at fault.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    unseen = [section for section in (nvml, libcuda) if isinstance(section, Missing) and section.cause is not Cause.ABSENT]
    for name, section in (("NVML", nvml), ("libcuda", libcuda)):
        hang = section.hang if isinstance(section, Nvml | Libcuda) else None
        if not isinstance(hang, Hang) or not (hang.uninterruptible or hang.seconds >= HANG_SECONDS):
            continue
        state = " and cannot be killed (state D)" if hang.uninterruptible else ""
        yield Problem(
            message=f"{name} does not return from {hang.call}: no sign of life for {hang.seconds:.0f} s{state}.",
            evidence=(Evidence("call that hangs", hang.call, name),),
            fixes=(
                Fix("Save the kernel's log", "sudo dmesg | grep -E 'NVRM|Xid|blocked for more than'", ("root",)),
                Fix("Reboot", "sudo reboot", ("root", "reboot"), "nvidia-smi"),
            ),
        )
    for section in unseen:
        need(section, Rung.NVML)


@rule("GD206", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
def cuda_init_fails(libcuda: Libcuda | Missing, hardware: Hardware, site: Site) -> Iterator[Problem]:
    """CUDA does not initialise.

    ## Why it matters
    Every CUDA program begins with cuInit. Its error codes are few and each has several causes, so the code alone is no diagnosis:
    where nothing else that was seen explains it, only candidates can be named.

    ## What to do
    Go through the candidates in their order; each names the one observation that tells.

    ## References
    - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """
    if site.has_pci and not hardware:
        not_applicable("there is no GPU for CUDA to initialise")
    library = need(libcuda, Rung.LIBCUDA)
    init = need(library.init, Rung.LIBCUDA)
    if not init.code:
        return
    candidates = CUDA_CANDIDATES.get(init.code, ())
    yield Problem(
        message=f"cuInit answers {init.code} ({init.name}).",
        evidence=(Evidence("cuInit", f"{init.code} {init.name}", library.library if isinstance(library.library, str) else "libcuda.so.1"),),
        fixes=tuple(Fix(f"{cause}: {remedy}", command) for cause, remedy, command in candidates)
        or (Fix("Read what the kernel driver says", "sudo dmesg | grep -E 'NVRM|Xid'", ("root",)),),
    )


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
    has_nodes = isinstance(nodes, DeviceNodes) and any(_needed(node) for node in nodes.nodes)
    works = isinstance(nvml, Nvml) and isinstance(nvml.init, Status) and not nvml.init.code
    if has_nodes and (isinstance(libcuda, Libcuda) or libcuda.cause is not Cause.ABSENT or not works):
        return
    if isinstance(nodes, Missing) and nodes.cause is not Cause.ABSENT:
        need(nodes, Rung.DEVICE_NODE)
    host = _host_has(snapshot.kernel_driver, snapshot.pci)
    if not host and not works:
        not_applicable("neither /proc nor /sys shows that the host has an NVIDIA driver")
    lacking = "the driver's libcuda" if has_nodes else "the GPU's device files"
    yield Problem(
        message=f"This {site.container} container was not given {lacking}, although {host or 'NVML works here'}.",
        confidence=Confidence.CERTAIN if host or works else Confidence.LIKELY,
        evidence=(
            Evidence("device files", ", ".join(node.path for node in nodes.nodes) if isinstance(nodes, DeviceNodes) else "none", "/dev"),
            Evidence("libcuda", "found" if isinstance(libcuda, Libcuda) else libcuda.reason, "the loader"),
            *_asked_for(snapshot),
        ),
        fixes=(_COMPUTE if has_nodes else _START.get(site.container, _START["docker"]),),
    )


_COMPUTE = Fix(
    "Start it with the driver's compute libraries: NVIDIA_DRIVER_CAPABILITIES must be unset or hold compute",
    "docker run --rm --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE nvidia-smi",
)
_START = {
    "docker": Fix("Start it with the GPU", "docker run --rm --gpus all IMAGE nvidia-smi", verify="nvidia-smi -L"),
    "podman": Fix("Start it with the GPU", "podman run --rm --device nvidia.com/gpu=all IMAGE nvidia-smi", verify="nvidia-smi -L"),
    "kubernetes": Fix("Request the GPU in the pod: resources.limits with nvidia.com/gpu: 1.", verify="nvidia-smi -L"),
    "apptainer": Fix("Start it with the GPU", "apptainer exec --nv IMAGE nvidia-smi", verify="nvidia-smi -L"),
}


def _host_has(kernel_driver: KernelDriver | Missing, pci: Pci | Missing) -> str:
    """How we know that the host could give a GPU; empty where nothing says so."""
    if isinstance(kernel_driver, KernelDriver) and isinstance(kernel_driver.version, Fact):
        return f"the host has NVIDIA driver {kernel_driver.version.value} loaded"
    bound = isinstance(pci, Pci) and any(is_gpu(device) and device.driver == "nvidia" for device in pci.devices)
    return "the host's NVIDIA driver holds a GPU" if bound else ""


def _asked_for(snapshot: Snapshot) -> tuple[Evidence, ...]:
    if isinstance(snapshot.variables, Missing):
        return ()
    names = ("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
    values = snapshot.variables.values
    return tuple(Evidence(name, values[name] or "empty", "environment") for name in names if name in values)


RULES = (device_permission_denied, driver_hung, cuda_init_fails, container_no_gpu_access)
