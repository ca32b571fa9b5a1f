from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.derive.device_nodes import are_all_withheld
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.platform.engine_in_text import engine_in_text
from gpudoctor.findings import Action, Confidence, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing
from gpudoctor.status_codes import NvmlError

_OPEN_DEVICE_FILE = Fix(
    "Open the device file; Operation not permitted confirms that the cgroup blocks it", "cat /dev/nvidiactl", kind=FixKind.CHECK
)
_RESTART_CONTAINER = (
    Fix("Restart the container.", action=Action.RESTART_JOB),
    Fix(
        "Prevent it: on the host, create the /dev/char links that systemd needs, and start containers with CDI or --device",
        "sudo nvidia-ctk system create-dev-char-symlinks --create-all",
        action=Action.CONTACT_ADMINISTRATOR,
    ),
)
_RESTART_POD = Fix("Delete the pod; its controller starts a new one.", action=Action.RESTART_JOB)


@rule("GD303", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE, predicts=False)
@advises(
    lambda machine: (_RESTART_POD, *_RESTART_CONTAINER[1:]) if engine_in_text(machine) in {"kubernetes", "k3s"} else _RESTART_CONTAINER
)
@explains(("device-permission-denied",), "The control group blocks what the file's permissions allow.")
@explains(("gpu-missing-from-cuda", "cuda-init-fails", "gpu-count-mismatch", *TRAINING_FAILS), "CUDA cannot open the device files.")
@explains(("required-gpus-missing",), "The container cannot open a GPU.")
def container_cgroup_device_lost(machine: MachineView) -> Problems:
    """Container's cgroup blocks the GPU's device files."""
    container = machine.inside_container
    if not container.has_devices(proven=True):
        not_applicable("there are no device files")
    control = container.control
    unknown_error = machine.nvml_init_code == NvmlError.UNKNOWN
    refused = control == "EPERM" or are_all_withheld(machine.observed.device_nodes, machine.observed.host)
    if not refused and not (unknown_error and isinstance(control, Missing)):
        require_known(control, Rung.DEVICE_NODE)
        return
    certain = "The container's cgroup blocks the GPU's device files, although their permissions allow access."
    possible = 'NVML returns "Unknown Error" although the container has the device files; its cgroup may block them.'
    yield Problem(
        message=certain if refused else possible,
        confidence=Confidence.CERTAIN if refused else Confidence.POSSIBLE,
        evidence=(
            Evidence("opening /dev/nvidiactl", control if isinstance(control, str) else control.reason, "open"),
            *((Evidence("nvmlInit", f"{NvmlError.UNKNOWN:d} Unknown Error", "NVML"),) if unknown_error else ()),
        ),
        fixes=_RESTART_CONTAINER if refused else (_OPEN_DEVICE_FILE, *_RESTART_CONTAINER),
    )
