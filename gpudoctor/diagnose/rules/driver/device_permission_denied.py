from gpudoctor.derive import MachineView, Site, require_applicable
from gpudoctor.derive.device_nodes import is_used_to_compute, is_withheld
from gpudoctor.diagnose.rule import CUDA_FAILS, explains, rule
from gpudoctor.findings import REBOOT, Action, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import few_names
from gpudoctor.snapshot import Host, Node
from gpudoctor.status_codes import NvmlError


@rule("GD204", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE)
@explains((*CUDA_FAILS, "uvm-not-loaded"), "CUDA cannot open the driver's device files.")
@explains(("gpu-count-mismatch", "gpu-missing-from-cuda"), "NVML and CUDA leave out a GPU whose device file they cannot open.")
def device_permission_denied(machine: MachineView) -> Problems:
    """User cannot open the GPU's device files."""
    host = machine.observed.host
    nodes = require_applicable(machine.observed.device_nodes, Rung.DEVICE_NODE).nodes
    shut = [node for node in nodes if node.accessible is False and is_used_to_compute(node) and not is_withheld(node, host)]
    if not shut and machine.nvml_init_code != NvmlError.NO_PERMISSION:
        return
    user = f"User {host.uid}" if isinstance(host, Host) and isinstance(host.uid, int) else "This user"
    refusal = Evidence("nvmlInit", f"{NvmlError.NO_PERMISSION:d} Insufficient Permissions", "NVML")
    yield Problem(
        message=f"{user} cannot open {few_names([node.path for node in shut])}: permission denied."
        if shut
        else f"{user} cannot use NVML: insufficient permissions.",
        evidence=tuple(Evidence(node.path, _permissions_text(node), "stat") for node in shut) or (refusal,),
        fixes=(_allow_access(shut, machine.site),),
    )


def _permissions_text(node: Node) -> str:
    group = node.group if isinstance(node.group, str) else f"gid {node.gid}"
    return f"mode {node.mode}, owner uid {node.uid}, group {group}"


def _allow_access(shut: list[Node], site: Site) -> Fix:
    if site.container:
        return Fix(
            "Start the container with --group-add for the group that owns the files (rootless Podman: --group-add keep-groups).",
            action=Action.RESTART_JOB,
        )
    group = next((node.group for node in shut if isinstance(node.group, str) and node.group != "root"), "")
    if group:
        return Fix(f"Add your user to group {group}, then log in again", f'sudo usermod -aG {group} "$USER"')
    return Fix(
        "Give all users access to the GPU, as the driver does by default, then reboot",
        "echo options nvidia NVreg_DeviceFileMode=0666 | sudo tee /etc/modprobe.d/nvidia-permissions.conf",
        (REBOOT,),
    )
