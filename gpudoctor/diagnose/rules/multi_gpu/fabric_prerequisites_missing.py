from gpudoctor.derive import MachineView, not_applicable, require_known
from gpudoctor.derive.fabric import fabric_of, has_nvlink_5, is_in_rack
from gpudoctor.derive.views.fabric import ManagerPlace
from gpudoctor.diagnose.advice.system import distribution_command
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.diagnose.rules.multi_gpu.fabric import RESTART_MANAGER
from gpudoctor.findings import DOWNLOAD, ROOT, Action, Domain, Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import FabricParts

_LOAD_UMAD = Fix(
    "Load the ib_umad module now and at every boot",
    "sudo modprobe ib_umad && echo ib_umad | sudo tee /etc/modules-load.d/ib_umad.conf",
)
_INSTALL_NVLSM = {"ubuntu": "sudo apt install nvlsm", "debian": "sudo apt install nvlsm", "rhel": "sudo dnf install nvlsm"}
"""From NVIDIA's package repository, like the driver and the fabric manager."""
_START_IMEX = Fix("Start IMEX, if jobs use GPUs of several nodes", "sudo systemctl enable --now nvidia-imex")
_INSTALL_IMEX = Fix(
    "Install nvidia-imex in the driver's version, if jobs use GPUs of several nodes.", needs=(ROOT, DOWNLOAD), action=Action.INSTALL_PACKAGE
)


@rule("GD809", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.DRIVER)
@explains(("fabric-manager-missing", "fabric-not-ready"), "The fabric manager of NVLink 5 needs NVLSM and ib_umad.")
@explains(("gpu-missing-from-cuda", "cuda-init-fails", *TRAINING_FAILS), "cuInit fails with 802 on every GPU until the fabric is set up.")
@explains(("nvlink-inactive",), "NVLinks stay down until the fabric is set up.")
@explains(("required-gpus-missing",), "CUDA cannot use any GPU of the fabric.")
def fabric_prerequisites_missing(machine: MachineView) -> Problems:
    """NVLink 5 fabric cannot start: NVLSM or ib_umad is missing."""
    gpus = [gpu for gpu in machine.hardware if fabric_of(gpu) and has_nvlink_5(gpu)]
    if not gpus:
        not_applicable("no GPU with NVLink 5 is attached to a fabric")
    parts = machine.fabric_parts
    if all(map(is_in_rack, gpus)):
        yield from _missing_imex(parts)
        return
    fabric = machine.fabric
    if fabric.manager_place is not ManagerPlace.HERE:
        not_applicable("the fabric is set up by the host")
    unready = fabric.unready_evidence
    running, umad = require_known(parts.nvlsm_running), require_known(parts.umad)
    if not unready or (running and umad):
        return
    installed = isinstance(parts.nvlsm, str)
    missing, fixes = [], []
    if not running:
        missing.append(f"NVLSM is not {'running' if installed else 'installed'}")
    if not running and not installed:
        fixes.append(
            Fix(
                "Install the NVLink subnet manager",
                distribution_command(machine.site, _INSTALL_NVLSM),
                (ROOT, DOWNLOAD),
                action=Action.INSTALL_PACKAGE,
            )
        )
    if not umad:
        missing.append("ib_umad is not loaded")
        fixes.append(_LOAD_UMAD)
    yield Problem(
        message=f"NVLink 5 fabric of {len(gpus)} GPUs cannot start: {', '.join(missing)}.",
        evidence=(
            *unready,
            Evidence("NVLSM", "running" if running else "not running", str(parts.nvlsm) if installed else "/opt/nvidia/nvlsm"),
            Evidence("ib_umad", "loaded" if umad else "not loaded", "/sys/class/infiniband_mad"),
        ),
        fixes=(*fixes, RESTART_MANAGER),
    )


def _missing_imex(parts: FabricParts) -> Problems:
    """Report a rack node without IMEX; it can still train alone."""
    if require_known(parts.imex_running):
        return
    state = "not running" if isinstance(parts.imex, str) else "not installed"
    yield Problem(
        title="IMEX is not running on this node of an NVL72 rack",
        message=f"IMEX is {state}, so GPUs of different nodes cannot share memory over NVLink. Training on one node does not need it.",
        severity=Severity.NOTE,
        evidence=(Evidence("nvidia-imex", state, "systemd units, /proc"),),
        fixes=(_START_IMEX,) if isinstance(parts.imex, str) else (_INSTALL_IMEX, _START_IMEX),
    )
