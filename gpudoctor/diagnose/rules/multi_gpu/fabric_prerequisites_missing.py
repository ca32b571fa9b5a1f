"""GD809: fabric-prerequisites-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, Site
from gpudoctor.derive.fabric import fabric_of, fifth, in_rack
from gpudoctor.diagnose.advice.needs import DOWNLOAD, ROOT
from gpudoctor.diagnose.kernel_facts import here
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.multi_gpu.fabric import _RESTART, _elsewhere, _waiting
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import FabricParts, Missing, Pci, Snapshot

_UMAD = Fix(
    "Load the module ib_umad, now and at each boot",
    "sudo modprobe ib_umad && echo ib_umad | sudo tee /etc/modules-load.d/ib_umad.conf",
    (ROOT,),
)


_NVLSM = {"ubuntu": "sudo apt install nvlsm", "debian": "sudo apt install nvlsm", "rhel": "sudo dnf install nvlsm"}
"""In NVIDIA's package repository, beside the driver and the fabric manager."""


_IMEX = Fix("Start IMEX, where jobs use GPUs of several nodes", "sudo systemctl enable --now nvidia-imex", (ROOT,))


_GET_IMEX = Fix("Install nvidia-imex in the driver's release, where jobs use GPUs of several nodes.", needs=(ROOT, DOWNLOAD))


@rule(
    "GD809",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    explains=(
        Explains(
            (
                "gpu-missing-from-cuda",
                "cuda-init-fails",
                "fabric-manager-missing",
                "fabric-not-ready",
                "nvlink-inactive",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def fabric_prerequisites_missing(
    parts: FabricParts | Missing, pci: Pci | Missing, snapshot: Snapshot, hardware: Hardware, site: Site
) -> Iterator[Problem]:
    """NVLink 5 needs a service or kernel module that is not running.

    ## Why it matters
    From NVLink 5 on (HGX B200, B300) the fabric manager alone sets up nothing: it needs the NVLink subnet manager (package nvlsm), and
    both reach the switches by InfiniBand management datagrams, which the kernel offers with the module ib_umad. Without these the GPUs
    stay "in progress" and cuInit answers 802. In an NVL72 rack the switch trays do this; there nodes run IMEX to share memory.

    ## What to do
    Install nvlsm, load ib_umad, and restart the fabric manager.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    - https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/
    - https://github.com/siderolabs/extensions/pull/717
    - https://github.com/spectrocloud/CanvOS/pull/700
    """
    gpus = [gpu for gpu in hardware if fabric_of(gpu) and fifth(gpu)]
    if not gpus:
        not_applicable("no GPU with NVLink 5 is attached to a fabric")
    seen = need(parts)
    if all(map(in_rack, gpus)):
        yield from _without_imex(seen)
        return
    if _elsewhere(hardware, site, pci):
        not_applicable("the fabric is set up by the host")
    waiting = need(_waiting(snapshot, hardware), Rung.LIBCUDA)
    installed, running, umad = isinstance(seen.nvlsm, str), need(seen.nvlsm_running), need(seen.umad)
    if not waiting or (running and umad):
        return
    lacking = [
        *((f"NVLSM is not {'running' if installed else 'installed'}",) if not running else ()),
        *(() if umad else ("ib_umad is not loaded",)),
    ]
    install = Fix("Install the NVLink subnet manager", here(site, _NVLSM), (ROOT, DOWNLOAD))
    yield Problem(
        message=f"{len(gpus)} GPUs with NVLink 5 wait for the fabric: {', '.join(lacking)}.",
        evidence=(
            *waiting,
            Evidence("NVLSM", "running" if running else "not running", str(seen.nvlsm) if installed else "/opt/nvidia/nvlsm"),
            Evidence("ib_umad", "loaded" if umad else "not loaded", "/sys/class/infiniband_mad"),
        ),
        fixes=(*(() if installed or running else (install,)), *(() if umad else (_UMAD,)), _RESTART),
    )


def _without_imex(parts: FabricParts) -> Iterator[Problem]:
    """A node of a rack can train alone without IMEX."""
    if need(parts.imex_running):
        return
    state = "not running" if isinstance(parts.imex, str) else "not installed"
    yield Problem(
        title="IMEX is not running on this node of an NVL72 rack",
        message=f"IMEX is {state}: GPUs of several nodes cannot share memory over NVLink. A training on this node alone does not need it.",
        severity=Severity.NOTE,
        evidence=(Evidence("nvidia-imex", state, "systemd's units, /proc"),),
        fixes=(_IMEX,) if isinstance(parts.imex, str) else (_GET_IMEX, _IMEX),
    )
