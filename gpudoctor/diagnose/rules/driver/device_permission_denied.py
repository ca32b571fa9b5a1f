"""GD204: device-permission-denied."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.derive.device_nodes import withheld
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.driver.access import is_needed
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, DeviceNodes, Host, Missing, Node, Nvml, Status

_NVML_NO_PERMISSION = 4


@rule(
    "GD204",
    severity=Severity.ERROR,
    breaks=Rung.DEVICE_NODE,
    since="0.1",
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "gpu-count-mismatch",
                "gpu-missing-from-cuda",
                "uvm-not-loaded",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
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
    shut = [node for node in nodes.nodes if node.accessible is False and is_needed(node) and not withheld(node, host)]
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


def _permissions(node: Node) -> str:
    group = node.group if isinstance(node.group, str) else f"gid {node.gid}"
    return f"mode {node.mode}, owner uid {node.uid}, group {group}"


def _permission_fix(shut: list[Node], site: Site) -> Fix:
    if site.container:
        return Fix("Start the container as a user of the group that owns the files, or with --group-add for that group.")
    group = next((node.group for node in shut if isinstance(node.group, str) and node.group != "root"), "")
    if group:
        return Fix(f"Join the group {group}, then log in again", f'sudo usermod -aG {group} "$USER"', (ROOT,))
    return Fix(
        "Let everybody use the GPU, as the driver does by default, then reboot",
        "echo options nvidia NVreg_DeviceFileMode=0666 | sudo tee /etc/modprobe.d/nvidia-permissions.conf",
        (ROOT, REBOOT),
    )
