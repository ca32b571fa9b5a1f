import msgspec

from gpudoctor.derive import MachineView, known_or_none, not_applicable
from gpudoctor.derive.views.container import CAPABILITIES_VARIABLE, DEVICES_VARIABLE, ContainerView
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.platform.container import (
    NO_GPU_VALUES,
    container_request_evidence,
    device_file_evidence,
    image_argument,
    product_name,
)
from gpudoctor.diagnose.rules.platform.engine_in_text import engine_in_text
from gpudoctor.expressions import expression
from gpudoctor.findings import ROOT, Action, Confidence, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Cause, Libcuda, is_absent

_START_COMMANDS = {
    "docker": "docker run --rm --gpus all IMAGE nvidia-smi",
    "podman": "podman run --rm --device nvidia.com/gpu=all IMAGE nvidia-smi",
    "apptainer": "apptainer exec --nv IMAGE nvidia-smi",
}
_REQUEST_IN_POD = Fix("Request a GPU in the pod: resources.limits with nvidia.com/gpu: 1.", action=Action.RESTART_JOB)
_ADD_TO_LXC = Fix(
    "Add the GPU to the container, on the host", "lxc config device add CONTAINER gpu gpu", (ROOT,), action=Action.CONTACT_ADMINISTRATOR
)
_RUN_WITH_DOCKER = Fix("Start the container with its GPUs", _START_COMMANDS["docker"], action=Action.RESTART_JOB)
_RUN_WITH_PODMAN = Fix("Start the container with its GPUs", _START_COMMANDS["podman"], action=Action.RESTART_JOB)
_RESERVE_IN_COMPOSE = Fix(
    "Reserve the GPU for the service in the compose file: deploy.resources.reservations.devices with driver: nvidia, count: all, capabilities: [gpu].",
    action=Action.RESTART_JOB,
)
_GIVE_PLUGIN_THE_RUNTIME = Fix(
    "Run the device plugin with NVIDIA's runtime: set runtimeClassName: nvidia in its pods, or make nvidia the node's default runtime.",
    action=Action.RESTART_JOB,
)
_OF_PLUGIN = expression(
    r"Detected non-NVML platform|could not load NVML library|If this is a GPU node, did you|No devices found\. Waiting indefinitely"
)
"""What the device plugin of Kubernetes says, which itself requests no GPU: https://github.com/NVIDIA/k8s-device-plugin"""
_FIXES_BY_STARTER = {
    "docker": _RUN_WITH_DOCKER,
    "podman": _RUN_WITH_PODMAN,
    "compose": _RESERVE_IN_COMPOSE,
    "kubectl": _REQUEST_IN_POD,
    "kind:": _REQUEST_IN_POD,
    "kubernetes": _REQUEST_IN_POD,
    "k3s": _REQUEST_IN_POD,
    "apptainer": Fix("Start the container with its GPUs", _START_COMMANDS["apptainer"], action=Action.RESTART_JOB),
}
"""The fix for a container that a text starts with this word, and by the engine that it names."""
_START_ANY = (
    _RUN_WITH_DOCKER,
    msgspec.structs.replace(_RUN_WITH_PODMAN, title="With Podman", kind=FixKind.INSTEAD),
    msgspec.structs.replace(_REQUEST_IN_POD, kind=FixKind.INSTEAD),
)


def _start_with_gpus(machine: MachineView) -> tuple[Fix, ...]:
    """Return how to start the container that a text shows, or any container, with its GPUs. Nothing of the text becomes a command."""
    if machine.log.has_line_with(_OF_PLUGIN):
        return (_GIVE_PLUGIN_THE_RUNTIME,)
    start = machine.log.gpu_requests.get("none")
    way = _FIXES_BY_STARTER.get(start.value.partition(" ")[0] if start else engine_in_text(machine))
    return (way,) if way else _START_ANY


@rule("GD301", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE)
@advises(_start_with_gpus)
@explains(("no-driver", "device-permission-denied"), "The driver is on the host, and the container has no device files for it.")
@explains(("cuda-init-fails", "gpu-count-mismatch", *TRAINING_FAILS), "Without device files or libcuda, CUDA finds no GPU.")
@explains(("required-gpus-missing",), "The container has no usable GPU.")
def container_no_gpu_access(machine: MachineView) -> Problems:
    """Container was started without GPU access."""
    container = machine.inside_container
    works = machine.nvml_works
    nodes = known_or_none(machine.observed.device_nodes, Rung.DEVICE_NODE)
    has_nodes = nodes is not None and container.has_devices(proven=works or bool(container.driver_libraries))
    missing = _missing_library(container, works=works) if has_nodes else "GPU device files"
    if not missing:
        return
    host = container.host_driver
    if not host and not works and not machine.site.on_wsl:
        not_applicable("nothing in /proc or /sys shows an NVIDIA driver on the host")
    driver = host or ("NVML works here" if works else "WSL may have one")
    reason = _blocking_variable(container)
    libcuda = machine.observed.libcuda
    yield Problem(
        message=f"This {product_name(container.runtime)} container was started without {missing}{f': {reason}' if reason else f', although {driver}'}.",
        confidence=Confidence.CERTAIN if host or works else Confidence.POSSIBLE,
        evidence=(
            device_file_evidence(container),
            Evidence("driver on the host", driver, "/proc, /sys"),
            Evidence("libcuda", "found" if isinstance(libcuda, Libcuda) else libcuda.reason, "the loader"),
            *container_request_evidence(container),
        ),
        fixes=(_start_with_compute(container) if has_nodes else _start_with_gpu(container),),
    )


def _missing_library(container: ContainerView, *, works: bool) -> str:
    """Return which driver library the runtime did not mount; empty where none is missing."""
    nvml, libcuda, mounted = container.observed.nvml, container.observed.libcuda, container.driver_libraries
    if isinstance(libcuda, Libcuda) or libcuda.cause is not Cause.ABSENT or any("libcuda" in file.path for file in mounted):
        return ""
    if is_absent(nvml) and not mounted:
        return "the driver libraries"
    return "the driver's libcuda" if works or mounted else ""


def _start_with_gpu(container: ContainerView) -> Fix:
    if container.runtime == "kubernetes":
        return _REQUEST_IN_POD
    if container.runtime == "lxc":
        return _ADD_TO_LXC
    command = _START_COMMANDS.get(container.runtime, _START_COMMANDS["docker"])
    return Fix("Start the container with the GPU", command.replace("IMAGE", image_argument(container)), action=Action.RESTART_JOB)


def _start_with_compute(container: ContainerView) -> Fix:
    title = f"Start the container with the driver's compute libraries: unset {CAPABILITIES_VARIABLE}, or add compute to it"
    options = {"docker": "--gpus all", "podman": "--device nvidia.com/gpu=all"}.get(container.runtime)
    if not options:
        return Fix(f"{title}.", action=Action.RESTART_JOB)
    run = f"{container.runtime} run --rm {options} -e {CAPABILITIES_VARIABLE}=compute,utility {image_argument(container)} nvidia-smi"
    return Fix(title, run, action=Action.RESTART_JOB)


def _blocking_variable(container: ContainerView) -> str:
    """Return the variable that explains it; empty where none does."""
    devices = container.requested.get(DEVICES_VARIABLE, "all")
    if devices in NO_GPU_VALUES:
        return f"{DEVICES_VARIABLE} is {devices or 'empty'}"
    capabilities = [word.strip() for word in container.requested.get(CAPABILITIES_VARIABLE, "").split(",") if word.strip()]
    if capabilities and not {"all", "compute"} & set(capabilities):
        return f"{CAPABILITIES_VARIABLE} is {','.join(capabilities)}, without compute"
    return ""
