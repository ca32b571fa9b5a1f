from gpudoctor.derive import MachineView, not_applicable
from gpudoctor.derive.views.kernel import GUEST_DRIVERS
from gpudoctor.diagnose.rule import DRIVER_NOT_LOADED, explains, rule
from gpudoctor.diagnose.rules.driver.bound_driver import bound_driver_evidence
from gpudoctor.findings import ROOT, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import singular_or_plural
from gpudoctor.snapshot import PciDevice


@rule("GD210", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, predicts=False)
@explains(DRIVER_NOT_LOADED, "The NVIDIA driver cannot bind a GPU that is passed through to a virtual machine.")
def vfio_bound(machine: MachineView) -> Problems:
    """All GPUs are bound to vfio-pci (VM passthrough)."""
    gpus = machine.kernel.gpus
    if not gpus:
        not_applicable("there is no NVIDIA GPU on the PCI bus")
    if any(gpu.driver not in GUEST_DRIVERS for gpu in gpus):
        return
    subject = singular_or_plural(len(gpus), "The only GPU is", f"All {len(gpus)} GPUs are")
    yield Problem(
        message=f"{subject} bound to {gpus[0].driver} for VM passthrough.",
        evidence=tuple(bound_driver_evidence(gpu) for gpu in gpus),
        fixes=(
            Fix(
                f"If no virtual machine uses it, return GPU {gpus[0].address} to the host until the next boot",
                _rebind_command(gpus[0]),
                (ROOT,),
            ),
            Fix("Train, and run gpudoctor, in the virtual machine that has the GPU.", kind=FixKind.INSTEAD),
        ),
    )


def _rebind_command(gpu: PciDevice) -> str:
    return (
        f"echo {gpu.address} | sudo tee /sys/bus/pci/drivers/{gpu.driver}/unbind"
        f" && echo | sudo tee /sys/bus/pci/devices/{gpu.address}/driver_override"
        f" && sudo modprobe nvidia && echo {gpu.address} | sudo tee /sys/bus/pci/drivers_probe"
    )
