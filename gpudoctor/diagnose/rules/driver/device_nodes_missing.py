"""GD213: device-nodes-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.kernel_facts import CUDA_UNUSABLE, answered, cuda_answered
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.driver.devices import _NVML_MISMATCH, _NVML_NO_PERMISSION, _RESTART
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import (
    NOT_ASKED,
    Cause,
    CudaDevice,
    DeviceNodes,
    KernelDriver,
    Missing,
    Node,
    NvmlGpu,
    ProcGpu,
    Snapshot,
)

CONTROL, UVM = "/dev/nvidiactl", "/dev/nvidia-uvm"


_CREATE = Fix("Create the files", "sudo nvidia-modprobe -c 0 -u", (ROOT,))


_KEEP = Fix("Create them at each boot", "sudo systemctl enable --now nvidia-persistenced", (ROOT,))


@rule(
    "GD213",
    severity=Severity.ERROR,
    breaks=Rung.DEVICE_NODE,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "uvm-not-loaded",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
        Explains(
            (
                "gpu-count-mismatch",
                "gpu-missing-from-cuda",
            ),
            "",
            Join.GPU,
        ),
    ),
)
def device_nodes_missing(
    nodes: DeviceNodes | Missing, kernel_driver: KernelDriver, snapshot: Snapshot, hardware: Hardware, site: Site
) -> Iterator[Problem]:
    """The driver is loaded, and device files by which programs reach it are missing or stale.

    ## Why it matters
    NVML and CUDA open /dev/nvidiactl, /dev/nvidia-uvm and a /dev/nvidiaN for each GPU. The kernel does not make these files: root's
    first program does, or nvidia-modprobe, nvidia-persistenced or a udev rule. Where nobody did, a user's program finds no driver. The
    number of nvidia-uvm changes between boots, so that a file that was copied into a container can belong to another driver by now.

    Files appear when they are first needed, so that this is a finding only where NVML or CUDA failed as well.

    ## What to do
    Create them once, and let nvidia-persistenced do it at each boot. In a container do it on the host and start the container anew.

    ## References
    - https://docs.nvidia.com/deploy/driver-persistence/
    """
    if isinstance(kernel_driver.version, Missing):
        not_applicable("no NVIDIA kernel driver is loaded")
    if isinstance(nodes, Missing) and nodes.cause is not Cause.ABSENT:
        need(nodes, Rung.DEVICE_NODE)
    present = {node.path: node for node in nodes.nodes} if isinstance(nodes, DeviceNodes) else {}
    if site.container and not any(map(_own, present)):
        not_applicable("a container that was given no GPU has no device files either")
    nvml_failed = answered(snapshot.nvml) not in {None, 0, _NVML_MISMATCH, _NVML_NO_PERMISSION}
    cuda_failed = cuda_answered(snapshot) in CUDA_UNUSABLE
    lacking = [path for path in _wanted(kernel_driver, hardware, site) if path not in present and (path != UVM or cuda_failed)]
    if CONTROL in present and not site.container:
        yield from _of_one_gpu(hardware, present)
        lacking = [path for path in lacking if not _own(path)]
    stale = [node for node in present.values() if _is_stale(node, kernel_driver)]
    if not (nvml_failed or cuda_failed) or not (lacking or stale):
        return
    what = [*(f"{path} is missing" for path in lacking), *(f"{node.path} belongs to another driver" for node in stale)]
    yield Problem(
        message=f"The NVIDIA driver is loaded and {', '.join(what)}.",
        confidence=Confidence.CERTAIN if stale or CONTROL in lacking else Confidence.LIKELY,
        evidence=(
            Evidence("device files", ", ".join(sorted(present)) or "none", "/dev"),
            *(Evidence(node.path, f"major {node.major}", "stat; /proc/devices") for node in stale),
        ),
        fixes=(_RESTART,) if site.container else (_CREATE, _KEEP),
    )


def _own(path: str) -> bool:
    """Whether a device file is one GPU's own, /dev/nvidiaN."""
    return path.removeprefix("/dev/nvidia").isdecimal()


def _of_one_gpu(hardware: Hardware, present: dict[str, Node]) -> Iterator[Problem]:
    """The GPUs that neither NVML nor CUDA opens and whose own file is missing, while the driver's control file is there."""
    for gpu in hardware:
        minor = gpu.proc.minor if isinstance(gpu.proc, ProcGpu) else NOT_ASKED
        path = f"/dev/nvidia{minor}"
        opened = isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.address, str)
        aside = gpu.set_aside or (isinstance(gpu.proc, ProcGpu) and gpu.proc.excluded is True)
        if not isinstance(minor, int) or path in present or opened or isinstance(gpu.cuda_unmasked, CudaDevice) or aside:
            continue
        create = Fix(f"Create {path}", f"sudo nvidia-modprobe -c {minor}", (ROOT,))
        yield Problem(
            subject=gpu.subject,
            title="Device file of the GPU is missing",
            message=f"{gpu.label}: the driver has bound it as minor {minor}, but {path} is missing, so NVML and CUDA do not list it.",
            evidence=(
                Evidence("device files", ", ".join(sorted(filter(_own, present))) or "none", "/dev"),
                Evidence("Device Minor", str(minor), f"/proc/driver/nvidia/gpus/{gpu.key}/information"),
            ),
            fixes=(create, _KEEP),
        )


def _wanted(kernel_driver: KernelDriver, hardware: Hardware, site: Site) -> Iterator[str]:
    """What a program needs of a working driver. A container has the files of its own GPUs only; /dev/nvidia-uvm is for a loaded nvidia_uvm."""
    yield CONTROL
    if not site.container:
        yield from (f"/dev/nvidia{gpu.proc.minor}" for gpu in hardware if isinstance(gpu.proc, ProcGpu) and isinstance(gpu.proc.minor, int))
    if isinstance(kernel_driver.modules, tuple) and "nvidia_uvm" in kernel_driver.modules:
        yield UVM


def _is_stale(node: Node, kernel_driver: KernelDriver) -> bool:
    """Whether the file has another number than the kernel now gives to its driver."""
    if not node.path.startswith(UVM) or not isinstance(node.major, int) or isinstance(kernel_driver.majors, Missing):
        return False
    majors = {one.major for one in kernel_driver.majors if one.name == "nvidia-uvm"}
    return bool(majors) and node.major not in majors
