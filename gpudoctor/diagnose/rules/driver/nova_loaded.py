from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.views.kernel import is_nova
from gpudoctor.diagnose.advice.kernel_log import logged
from gpudoctor.diagnose.rule import DRIVER_NOT_LOADED, Explains, rule
from gpudoctor.diagnose.rules.driver.bound_driver import blocked_module, bound_driver, gpus_bound, loaded_instead, replace_driver
from gpudoctor.findings import Impact, Problem, Rung, Severity

_BLACKLIST = "printf 'blacklist nova_core\\nblacklist nova\\nblacklist nova_drm\\nblacklist nouveau\\n' | sudo tee /etc/modprobe.d/blacklist-nova.conf"


@rule(
    "GD240",
    advice=lambda machine: replace_driver(machine, "nova", _BLACKLIST, blocked=False),
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_DRIVER,
    impact=Impact.PARTLY,
    predicts=False,
    explains=(Explains(DRIVER_NOT_LOADED, "The NVIDIA driver cannot bind a GPU that nova has."),),
)
def nova_loaded(machine: MachineView) -> Iterator[Problem]:
    """GPU is bound to nova instead of the NVIDIA driver."""
    yield from loaded_instead(machine, "nova_core", "nova", _BLACKLIST)
    gpus = machine.kernel.gpus
    held = [gpu for gpu in gpus if is_nova(gpu)]
    if not held:
        return
    blocked = blocked_module(machine, "nova_core")
    yield Problem(
        severity=Severity.WARNING if any(gpu.driver == "nvidia" for gpu in gpus) else None,
        message=f"{gpus_bound(held)} to nova, not to the NVIDIA driver.",
        evidence=(*(bound_driver(gpu) for gpu in held), *blocked, *logged(machine, "already bound to NovaCore")),
        fixes=replace_driver(machine, "nova", _BLACKLIST, blocked=bool(blocked)),
    )
