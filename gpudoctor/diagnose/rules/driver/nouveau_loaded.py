from gpudoctor.derive import MachineView
from gpudoctor.derive.views.kernel import NOUVEAU
from gpudoctor.diagnose.rule import DRIVER_NOT_LOADED, advises, explains, rule
from gpudoctor.diagnose.rules.driver.bound_driver import InTreeDriver, bound_driver_problems, replace_driver
from gpudoctor.findings import Impact, Problems, Rung, Severity

_NOUVEAU = InTreeDriver(
    NOUVEAU,
    NOUVEAU,
    "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf",
)


@rule("GD208", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, impact=Impact.PARTLY, predicts=False)
@advises(lambda machine: replace_driver(machine, _NOUVEAU))
@explains(DRIVER_NOT_LOADED, "The NVIDIA driver cannot bind a GPU that nouveau has.")
def nouveau_loaded(machine: MachineView) -> Problems:
    """GPU is bound to nouveau instead of the NVIDIA driver."""
    yield from bound_driver_problems(machine, _NOUVEAU, lambda gpu: gpu.driver == NOUVEAU)
