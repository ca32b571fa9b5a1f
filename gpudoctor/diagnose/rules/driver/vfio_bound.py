"""GD210: vfio-bound."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.kernel_facts import FOR_GUESTS
from gpudoctor.diagnose.rule import Explains, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Pci


@rule(
    "GD210",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_DRIVER,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "no-driver",
                "driver-library-mismatch",
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def vfio_bound(pci: Pci, site: Site) -> Iterator[Problem]:
    """Every GPU is set aside for virtual machines.

    ## Why it matters
    A GPU that is bound to vfio-pci belongs to a guest: the host's driver does not touch it, and no program of the host can use it.
    Where only some of the GPUs are set aside, the host uses the others and nothing is wrong.

    ## What to do
    If the training is to run in the guest, run gpudoctor there. Else give the GPU back to the host: remove vfio-pci from the kernel's
    command line or modprobe.d, or the device from the guest.

    ## References
    - https://docs.kernel.org/driver-api/vfio.html
    """
    gpus = [device for device in pci.devices if is_gpu(device)]
    if not site.has_pci or not gpus:
        not_applicable("no NVIDIA GPU is on a PCI bus here")
    held = [device for device in gpus if device.driver in FOR_GUESTS]
    if len(held) < len(gpus):
        return
    place = held[0].address
    give_back = (
        f"echo {place} | sudo tee /sys/bus/pci/drivers/{held[0].driver}/unbind && echo | sudo tee /sys/bus/pci/devices/{place}/driver_override"
        f" && sudo modprobe nvidia && echo {place} | sudo tee /sys/bus/pci/drivers_probe"
    )
    yield Problem(
        message=f"{held[0].driver} holds {'the only GPU' if len(held) == 1 else f'all {len(held)} GPUs'} for virtual machines.",
        evidence=tuple(Evidence("driver bound to the GPU", str(one.driver), f"/sys/bus/pci/devices/{one.address}/driver") for one in held),
        fixes=(
            Fix("With no guest using it, give the GPU back to the host until the next boot", give_back, (ROOT,)),
            Fix("Run the training, and gpudoctor, in the virtual machine that the GPU was given to.", kind=FixKind.INSTEAD),
        ),
    )
