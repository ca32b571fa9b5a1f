from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.views.kernel import NOUVEAU
from gpudoctor.diagnose.rule import DRIVER_NOT_LOADED, Explains, rule
from gpudoctor.diagnose.rules.driver.bound_driver import (
    blocked_module,
    bound_driver,
    gpus_bound,
    installed_parts,
    loaded_instead,
    replace_driver,
)
from gpudoctor.findings import Impact, Problem, Rung, Severity

_BLACKLIST = "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf"


@rule(
    "GD208",
    advice=lambda machine: replace_driver(machine, NOUVEAU, _BLACKLIST, blocked=False),
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_DRIVER,
    impact=Impact.PARTLY,
    predicts=False,
    explains=(Explains(DRIVER_NOT_LOADED, "The NVIDIA driver cannot bind a GPU that nouveau has."),),
)
def nouveau_loaded(machine: MachineView) -> Iterator[Problem]:
    """GPU is bound to nouveau instead of the NVIDIA driver."""
    yield from loaded_instead(machine, NOUVEAU, NOUVEAU, _BLACKLIST)
    gpus = machine.kernel.gpus
    held = [gpu for gpu in gpus if gpu.driver == NOUVEAU]
    if not held:
        return
    blocked = blocked_module(machine, NOUVEAU)
    consequence = "not to the NVIDIA driver" if installed_parts(machine) else "and no NVIDIA driver is installed"
    yield Problem(
        severity=Severity.WARNING if any(gpu.driver == "nvidia" for gpu in gpus) else None,
        message=f"{gpus_bound(held)} to nouveau, {consequence}.",
        evidence=(*(bound_driver(gpu) for gpu in held), *blocked),
        fixes=replace_driver(machine, NOUVEAU, _BLACKLIST, blocked=bool(blocked)),
    )
