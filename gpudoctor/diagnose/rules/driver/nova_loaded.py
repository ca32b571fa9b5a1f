"""GD240: nova-loaded."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Site
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.kernel_facts import INITRAMFS, here, is_nova, kept_out, said, traces
from gpudoctor.diagnose.rule import Explains, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import KernelLog, KernelModules, Missing, Pci, PciDevice, Snapshot

MODULES = ("nova_core", "nova", "nova_drm")


_FILE = "/etc/modprobe.d/blacklist-nova.conf"


_BLACKLIST = f"printf 'blacklist nova_core\\nblacklist nova\\nblacklist nova_drm\\nblacklist nouveau\\n' | sudo tee {_FILE}"


@rule(
    "GD240",
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
def nova_loaded(
    pci: Pci, modules: KernelModules | Missing, log: KernelLog | Missing, snapshot: Snapshot, site: Site, machine: MachineView
) -> Iterator[Problem]:
    """Nova is bound to the GPU.

    ## Why it matters
    nova is the kernel's new driver for NVIDIA GPUs from Turing on, written in Rust, and runs no CUDA. Kernels that are built with it load
    nova_core at boot, and a GPU has one driver at a time: NVIDIA's module then says "already bound to NovaCore" and "No such device".
    A blacklist of nouveau does not keep nova out.

    It is an error where no GPU is left to the NVIDIA driver, else a warning.

    ## What to do
    Blacklist nova's modules and nouveau, rebuild the initial RAM disk, and reboot.

    ## References
    - https://docs.kernel.org/gpu/nova/index.html
    - https://rust-for-linux.com/nova-gpu-driver
    """
    if not site.has_pci:
        not_applicable("the GPU's driver is not a Linux kernel module on this platform")
    gpus = [device for device in pci.devices if is_gpu(device)]
    held = [device for device in gpus if is_nova(device)]
    if not held:
        return
    installed = bool(traces(snapshot))
    already = tuple(found for name in MODULES[:1] for found in kept_out(modules, name))
    yield Problem(
        severity=Severity.WARNING if any(device.driver == "nvidia" for device in gpus) else None,
        message=f"nova is bound to {', '.join(device.address for device in held)}, so the NVIDIA driver cannot use "
        + ("it." if len(held) == 1 else "them."),
        evidence=(*(_bound(device) for device in held), *already, *said(log, "already bound to NovaCore")),
        fixes=_fixes(machine, blacklisted=bool(already), installed=installed),
    )


def _bound(device: PciDevice) -> Evidence:
    return Evidence("driver bound to the GPU", str(device.driver), f"/sys/bus/pci/devices/{device.address}/driver")


def _fixes(machine: MachineView, *, blacklisted: bool, installed: bool) -> tuple[Fix, ...]:
    site = machine.site
    if site.container:
        return (Fix("Blacklist nova on the host and reboot it: a container uses the host's driver.", needs=(ROOT, REBOOT)),)
    steps = ("" if blacklisted else _BLACKLIST, here(site, INITRAMFS), "sudo reboot")
    title = "Rebuild the initial RAM disk, which still loads nova, and reboot" if blacklisted else "Blacklist nova and nouveau, then reboot"
    keep_out = Fix(title, " && ".join(filter(None, steps)), (ROOT, REBOOT))
    return (keep_out,) if installed else (update_driver(machine), keep_out)
