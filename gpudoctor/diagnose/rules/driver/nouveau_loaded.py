"""GD208: nouveau-loaded."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.kernel_facts import INITRAMFS, NOUVEAU, here, kept_out, traces
from gpudoctor.diagnose.rule import Explains, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import KernelModules, Missing, Pci, Snapshot


@rule(
    "GD208",
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
def nouveau_loaded(pci: Pci, modules: KernelModules | Missing, snapshot: Snapshot, machine: MachineView) -> Iterator[Problem]:
    """The kernel's own driver, nouveau, holds the GPU.

    ## Why it matters
    A GPU has one driver at a time. nouveau is part of Linux, is loaded early in the boot and drives displays; it runs no CUDA. While
    it holds the GPU the NVIDIA driver cannot take it.

    It is an error where no GPU is left to the NVIDIA driver, else a warning.

    ## What to do
    Install the NVIDIA driver, whose packages keep nouveau out; where it is installed, blacklist nouveau, build the initial RAM disk
    anew, because nouveau is loaded from there, and reboot.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """
    site = machine.site
    if not site.has_pci:
        not_applicable("the GPU's driver is not a Linux kernel module on this platform")
    gpus = [device for device in pci.devices if is_gpu(device)]
    held = [device for device in gpus if device.driver == NOUVEAU]
    if not held:
        return
    installed = bool(traces(snapshot))
    already = kept_out(modules, "nouveau")
    blacklist = "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf"
    rebuild = here(site, INITRAMFS)
    keep_out = Fix(
        "Rebuild the initial RAM disk, which still loads nouveau, and reboot"
        if already
        else "Blacklist nouveau, rebuild the initial RAM disk, and reboot",
        " && ".join(filter(None, ("" if already else blacklist, rebuild, "sudo reboot"))),
        (ROOT, REBOOT),
    )
    yield Problem(
        severity=Severity.WARNING if any(device.driver == "nvidia" for device in gpus) else None,
        message=f"{', '.join(device.address for device in held)}: {held[0].driver} holds the GPU"
        + ("." if installed else ", and nothing of an NVIDIA driver is installed."),
        evidence=(
            *(Evidence("driver bound to the GPU", str(one.driver), f"/sys/bus/pci/devices/{one.address}/driver") for one in held),
            *already,
        ),
        fixes=(Fix("Do this on the host: a container uses the host's driver.", needs=(ROOT, REBOOT)),)
        if site.container
        else (keep_out,)
        if installed
        else (update_driver(machine), keep_out),
    )
