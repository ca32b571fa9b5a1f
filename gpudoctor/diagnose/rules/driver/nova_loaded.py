from gpudoctor.derive import MachineView
from gpudoctor.derive.views.kernel import is_nova
from gpudoctor.diagnose.rule import DRIVER_NOT_LOADED, advises, explains, rule
from gpudoctor.diagnose.rules.driver.bound_driver import InTreeDriver, bound_driver_problems, replace_driver
from gpudoctor.findings import Impact, Problems, Rung, Severity

_NOVA = InTreeDriver(
    "nova",
    "nova_core",
    "printf 'blacklist nova_core\\nblacklist nova\\nblacklist nova_drm\\nblacklist nouveau\\n' | sudo tee /etc/modprobe.d/blacklist-nova.conf",
    "already bound to NovaCore",
)


@rule("GD240", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, impact=Impact.PARTLY, predicts=False)
@advises(lambda machine: replace_driver(machine, _NOVA))
@explains(DRIVER_NOT_LOADED, "The NVIDIA driver cannot bind a GPU that nova has.")
def nova_loaded(machine: MachineView) -> Problems:
    """GPU is bound to nova instead of the NVIDIA driver."""
    yield from bound_driver_problems(machine, _NOVA, is_nova)
