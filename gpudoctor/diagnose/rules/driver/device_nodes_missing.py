from collections.abc import Iterator

from gpudoctor.derive import GpuView, MachineView, known_or_none, not_applicable
from gpudoctor.derive.device_nodes import CONTROL_FILE, UVM_FILE, is_gpu_node
from gpudoctor.diagnose.advice.system import RESTART_CONTAINER
from gpudoctor.diagnose.rule import CUDA_FAILS, Join, explains, rule
from gpudoctor.findings import ROOT, Confidence, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import few_names, singular_or_plural
from gpudoctor.snapshot import CudaDevice, KernelDriver, Missing, Node, ProcGpu
from gpudoctor.status_codes import DRIVER_UNUSABLE_ERRORS, NvmlError

_CONTROL_MINOR = "255"
_CREATE_AT_BOOT = Fix("Create them at every boot", "sudo systemctl enable --now nvidia-persistenced")
_INIT_CODES_WITH_FILES = {None, 0, NvmlError.LIB_RM_VERSION_MISMATCH, NvmlError.NO_PERMISSION}
"""What nvmlInit returns where no device file is missing."""


@rule("GD213", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, predicts=False)
@explains((*CUDA_FAILS, "uvm-not-loaded"), "CUDA cannot open a device file that is missing or stale.")
@explains(("gpu-count-mismatch", "gpu-missing-from-cuda"), "NVML and CUDA do not list a GPU whose device file is missing.", Join.GPU)
def device_nodes_missing(machine: MachineView) -> Problems:
    """Device files of the loaded driver are missing or stale."""
    driver = machine.kernel_driver
    if isinstance(driver.version, Missing):
        not_applicable("no NVIDIA kernel driver is loaded")
    nodes = known_or_none(machine.observed.device_nodes, Rung.DEVICE_NODE)
    present = {node.path: node for node in nodes.nodes} if nodes else {}
    if machine.site.container and not any(map(is_gpu_node, present)):
        not_applicable("a container without GPUs has no device files")
    cuda_failed = machine.cuda_init_code in DRIVER_UNUSABLE_ERRORS
    failed = cuda_failed or machine.nvml_init_code not in _INIT_CODES_WITH_FILES
    lacking = [path for path in _needed_files(machine, driver) if path not in present and (path != UVM_FILE or cuda_failed)]
    if CONTROL_FILE in present and not machine.site.container:
        yield from _gpus_without_file(machine, present)
        lacking = [path for path in lacking if not is_gpu_node(path)]
    stale = [node for node in present.values() if _is_stale(node, driver)]
    if not failed or not (lacking or stale):
        return
    faults = [f"{few_names(lacking)} {singular_or_plural(len(lacking), 'is', 'are')} missing"] if lacking else []
    faults += [f"{node.path} is stale (it belongs to another driver)" for node in stale]
    yield Problem(
        message=f"The NVIDIA driver is loaded, but {' and '.join(faults)}.",
        confidence=Confidence.CERTAIN if stale or CONTROL_FILE in lacking else Confidence.LIKELY,
        evidence=(
            Evidence("device files", ", ".join(sorted(present)) or "none", "/dev"),
            *(Evidence(node.path, f"major {node.major}", "stat; /proc/devices") for node in stale),
        ),
        fixes=(RESTART_CONTAINER,)
        if machine.site.container
        else (_create_files([*lacking, *(node.path for node in stale)]), _CREATE_AT_BOOT),
    )


def _create_files(paths: list[str]) -> Fix:
    """Return the fix that creates the files. With -u, nvidia-modprobe counts the minors of nvidia-uvm: that takes a separate call."""
    minors = [
        _CONTROL_MINOR if path == CONTROL_FILE else path.removeprefix("/dev/nvidia") for path in paths if not path.startswith(UVM_FILE)
    ]
    commands = [f"sudo nvidia-modprobe {' '.join(f'-c {minor}' for minor in minors)}"] if minors else []
    if len(minors) < len(paths):
        commands.append("sudo nvidia-modprobe -u -c 0")
    return Fix("Create the device files", " && ".join(commands), (ROOT,))


def _needed_files(machine: MachineView, driver: KernelDriver) -> Iterator[str]:
    """Yield the files that a program needs: in a container only those of its GPUs, and /dev/nvidia-uvm only if nvidia_uvm is loaded."""
    yield CONTROL_FILE
    for gpu in () if machine.site.container else machine.gpus:
        minor = _device_minor(gpu)
        if minor is not None:
            yield f"/dev/nvidia{minor}"
    if isinstance(driver.modules, tuple) and "nvidia_uvm" in driver.modules:
        yield UVM_FILE


def _device_minor(gpu: GpuView) -> int | None:
    """Return N of /dev/nvidiaN as the driver states it; None where it did not bind the GPU."""
    proc = gpu.observed.proc
    return proc.minor if isinstance(proc, ProcGpu) and isinstance(proc.minor, int) else None


def _gpus_without_file(machine: MachineView, present: dict[str, Node]) -> Problems:
    """Yield a problem for each GPU that NVML and CUDA cannot open because its file is missing, while the control file exists."""
    files = ", ".join(sorted(filter(is_gpu_node, present))) or "none"
    for gpu in machine.gpus:
        minor = _device_minor(gpu)
        if minor is None or f"/dev/nvidia{minor}" in present or _is_opened(gpu) or _is_left_to_others(gpu):
            continue
        path = f"/dev/nvidia{minor}"
        yield Problem(
            subject=gpu.subject,
            title="Device file of the GPU is missing",
            message=f"{gpu.label}: {path} is missing, so NVML and CUDA do not list the GPU.",
            evidence=(
                Evidence("device files", files, "/dev"),
                Evidence("Device Minor", str(minor), f"/proc/driver/nvidia/gpus/{gpu.key}/information"),
            ),
            fixes=(Fix(f"Create {path}", f"sudo nvidia-modprobe -c {minor}"), _CREATE_AT_BOOT),
        )


def _is_opened(gpu: GpuView) -> bool:
    return gpu.is_opened or isinstance(gpu.observed.cuda_unmasked, CudaDevice)


def _is_left_to_others(gpu: GpuView) -> bool:
    """Return whether the GPU is passed through to a virtual machine or excluded by the driver's configuration."""
    proc = gpu.observed.proc
    return gpu.observed.is_passed_through or (isinstance(proc, ProcGpu) and proc.excluded is True)


def _is_stale(node: Node, driver: KernelDriver) -> bool:
    """Return whether the file's major number is not the one that its driver has now."""
    if not node.path.startswith(UVM_FILE) or not isinstance(node.major, int) or isinstance(driver.majors, Missing):
        return False
    majors = {major.major for major in driver.majors if major.name == "nvidia-uvm"}
    return bool(majors) and node.major not in majors
