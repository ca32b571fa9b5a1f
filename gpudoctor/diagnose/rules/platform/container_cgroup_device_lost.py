"""GD303: container-cgroup-device-lost."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.derive.device_nodes import all_withheld
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.platform.container import has_devices
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import (
    Container,
    DeviceNodes,
    Host,
    Missing,
    Nvml,
    Status,
)

_NVML_UNKNOWN = 999


@rule(
    "GD303",
    severity=Severity.ERROR,
    breaks=Rung.DEVICE_NODE,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "gpu-missing-from-cuda",
                "cuda-init-fails",
                "gpu-count-mismatch",
                "device-permission-denied",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
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
