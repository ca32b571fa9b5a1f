from collections import Counter
from collections.abc import Iterator

import msgspec

from gpudoctor.derive import GpuView, not_applicable, require_offered
from gpudoctor.derive.fabric import (
    INCOMPATIBLE_FIRMWARE,
    SET_ON_SWITCHES,
    configuration_code,
    fabric_flaws,
    fabric_of,
    is_in_rack,
    is_recovering,
)
from gpudoctor.diagnose.advice.system import ask_administrator
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.diagnose.rules.multi_gpu.nvlinks import show_links
from gpudoctor.findings import REBOOT, ROOT, Action, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import Missing

_RESET_GPUS = Fix("Stop all processes and reset all GPUs of the fabric", "sudo nvidia-smi --gpu-reset", action=Action.RESET_GPU)


@rule("GD808", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK, predicts=False)
@explains(("all-reduce-failed",), "All-reduce runs over the fabric.")
@explains(("nvlink-inactive",), "A GPU with a bad fabric connection has links down.", Join.GPU)
def fabric_unhealthy(gpu: GpuView) -> Problems:
    """GPU has an unhealthy NVLink fabric connection."""
    fabric = gpu.fabric
    if fabric.state == "not-supported":
        not_applicable("not attached to a fabric")
    found = (*fabric_flaws(fabric), *_clique_differences(gpu))
    if not found:
        require_offered(fabric.health)
        return
    unregistered = fabric.state == "completed" and bool(fabric.status)
    health = f"0x{fabric.health:x}" if isinstance(fabric.health, int) else "not reported"
    yield Problem(
        message=f"{gpu.label} has an unhealthy NVLink fabric connection: {', '.join(found)}.",
        severity=Severity.ERROR if unregistered else None,
        evidence=(Evidence("fabric health", f"mask {health}, state {fabric.state}", "nvmlDeviceGetGpuFabricInfoV"),),
        fixes=(show_links(gpu), *_fixes(gpu)),
    )


def _clique_differences(gpu: GpuView) -> Iterator[str]:
    """Yield that the GPU is in another clique than most GPUs of its model here: they do not reach it over NVLink."""
    own = _fabric_membership(gpu)
    others = Counter(filter(None, map(_fabric_membership, (gpu, *gpu.same_model))))
    if own and (most := max(others.values())) > others[own]:
        usual = next(one for one, count in others.items() if count == most)
        yield f"it is in {_clique_text(own)}, the others are in {_clique_text(usual)}"


def _fabric_membership(gpu: GpuView) -> tuple[str, int] | None:
    """Return the cluster and clique of a registered GPU; None of one that has not registered."""
    fabric = fabric_of(gpu.observed)
    if fabric is None or fabric.state != "completed" or fabric.status or isinstance(fabric.cluster, Missing):
        return None
    return fabric.cluster, fabric.clique


def _clique_text(membership: tuple[str, int]) -> str:
    cluster, clique = membership
    return f"clique {clique} of cluster {cluster[:8]}" if cluster.strip("0") else "no cluster"


def _fixes(gpu: GpuView) -> tuple[Fix, ...]:
    fabric = gpu.fabric
    if is_recovering(fabric):
        command = "nvidia-smi -q | grep -A12 Fabric"
        return (Fix("Wait a minute, then see whether the recovery has ended", command, kind=FixKind.CHECK), _RESET_GPUS)
    last = msgspec.structs.replace(_RESET_GPUS, kind=FixKind.ELSE)
    if configuration_code(fabric) == INCOMPATIBLE_FIRMWARE:
        return (
            Fix(
                "Update the GPU baseboard's firmware to the version that the driver needs.",
                needs=(ROOT, REBOOT),
                action=Action.UPDATE_DRIVER,
            ),
            last,
        )
    if is_in_rack(gpu.observed) or configuration_code(fabric) in SET_ON_SWITCHES:
        return (
            ask_administrator(
                "Ask the fabric's operator to check routes, partition and chassis settings on the switches (NMX-Controller)."
            ),
            last,
        )
    return (Fix("Stop all processes and restart the fabric manager", "sudo systemctl restart nvidia-fabricmanager"), last)
