from gpudoctor.derive import MachineView
from gpudoctor.derive.views.fabric import ManagerPlace
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.diagnose.rules.multi_gpu.fabric import START_ELSEWHERE, START_MANAGER, install_manager, manager_evidence, read_manager_log
from gpudoctor.findings import Confidence, Domain, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import FabricManager

_ABSENCE_TEXTS = {
    ManagerPlace.CONTAINER_HOST: "cannot be seen from this container",
    ManagerPlace.RACK: "runs on the rack's switch trays, not on this node",
    ManagerPlace.VM_HOST: "runs on the host of this VM",
}


@rule("GD801", severity=Severity.ERROR, breaks=Rung.LIBCUDA, domain=Domain.DRIVER)
@explains(
    ("gpu-missing-from-cuda", "cuda-init-fails", *TRAINING_FAILS),
    "cuInit fails with 802 on every GPU until the fabric manager has set up the fabric.",
)
@explains(("nvlink-inactive",), "The fabric manager trains the NVLinks to the switches.")
@explains(("required-gpus-missing",), "CUDA cannot use any GPU of the fabric.")
def fabric_manager_missing(machine: MachineView) -> Problems:
    """NVLink fabric is not set up: the fabric manager is not running."""
    fabric = machine.fabric
    if not fabric.unready_evidence or fabric.is_manager_running_here:
        return
    place = fabric.manager_place
    here = place is ManagerPlace.HERE
    installed = isinstance(machine.observed.fabric_manager, FabricManager)
    if here and fabric.manager_running:
        return
    elsewhere, state = _ABSENCE_TEXTS.get(place), "installed but not running" if installed else "not installed"
    on_this_node = (START_MANAGER, read_manager_log("Read why it is not running")) if installed else (install_manager(machine),)
    yield Problem(
        message=f"NVLink fabric ({fabric.attachment}) is not set up: the fabric manager {elsewhere or f'is {state}'}.",
        confidence=Confidence.CERTAIN if here else Confidence.LIKELY,
        evidence=(*fabric.unready_evidence, *manager_evidence(fabric, elsewhere or state)),
        fixes=on_this_node if here else (START_ELSEWHERE[place],),
    )
