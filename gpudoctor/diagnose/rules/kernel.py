"""GD2: why no NVIDIA kernel driver is at work: its module is not built, is refused, or another driver holds the GPU."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import MachineView, Site
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.driver_fixes import install_driver
from gpudoctor.diagnose.fixes import DOWNLOAD, REBOOT, ROOT, reboot
from gpudoctor.diagnose.kernel_facts import FOR_GUESTS, HEADERS, INITRAMFS, NOUVEAU, here, kept_out, said, traces, undriven
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, Host, KernelDriver, KernelLog, KernelModules, Missing, ModuleFile, Pci, Snapshot


@rule("GD207", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, since="0.1", predicts=False)
def kernel_module_not_built(
    pci: Pci, kernel_driver: KernelDriver | Missing, modules: KernelModules, host: Host, snapshot: Snapshot, machine: MachineView
) -> Iterator[Problem]:
    """The NVIDIA driver is installed, and there is no kernel module of it for the running kernel.

    ## Why it matters
    A kernel module fits one kernel. After a kernel upgrade it must be built again, which DKMS or akmods do where the new kernel's
    headers are installed; where they are not, or the driver is too old for the kernel, the build fails and nobody tells. `modprobe
    nvidia` then says "Module nvidia not found in directory /lib/modules/...".

    ## What to do
    Install the headers of the running kernel and build the module, or boot the kernel that has one. If the build fails, its log says
    why; a driver that is older than the kernel mostly has to be renewed.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """
    if machine.site.container:
        not_applicable("the modules of a container's kernel are the host's")
    if not undriven(pci, kernel_driver, machine.site):
        return
    others = modules.other_kernels if isinstance(modules.other_kernels, tuple) else ()
    if _built(modules.installed, others):
        return
    evidence = traces(snapshot)
    if not evidence:
        not_applicable("nothing of an NVIDIA driver is installed")
    yield Problem(
        message=f"There is no NVIDIA module for the running kernel {_or_unknown(host.kernel)}"
        + (f"; there is one for {', '.join(others)}." if others else ", although the driver is installed."),
        evidence=(Evidence("NVIDIA modules for the running kernel", "none", "/lib/modules/$(uname -r)/modules.dep"), *evidence),
        fixes=tuple(_builds(modules, machine, others)),
    )


def _built(installed: tuple[ModuleFile, ...] | Missing, others: tuple[str, ...]) -> bool:
    """Whether the running kernel has the module; that its folder is gone means something only where other kernels have theirs."""
    if isinstance(installed, Missing) and installed.cause is Cause.ABSENT and others:
        return False
    return any(one.name == "nvidia" for one in need(installed, Rung.KERNEL_DRIVER))


def _or_unknown(text: str | Missing) -> str:
    return text if isinstance(text, str) else "(release not known)"


def _builds(modules: KernelModules, machine: MachineView, others: tuple[str, ...]) -> Iterator[Fix]:
    if isinstance(modules.installed, Missing):
        yield reboot("Reboot: the running kernel was replaced, and its modules are gone")
        return
    headers = here(machine.site, HEADERS)
    sources = modules.dkms if isinstance(modules.dkms, tuple) else ()
    failed = next((one for one in sources if one.failed), None)
    if failed:
        log = f"/var/lib/dkms/{failed.name}/{failed.version}/build/make.log"
        yield Fix("Read why the last build failed", f"tail -n 40 {log}", kind=FixKind.CHECK)
    if modules.headers is False:
        yield (
            Fix("Install the headers of the running kernel", headers, (ROOT, DOWNLOAD))
            if headers
            else Fix("Install the headers of the running kernel.", needs=(ROOT, DOWNLOAD))
        )
    if sources and not failed:
        yield Fix("Build the module and load it", "sudo dkms autoinstall && sudo modprobe nvidia", (ROOT,))
    elif failed:
        yield install_driver(machine, what="Install a driver that compiles for this kernel")
    else:
        yield install_driver(machine, what="Install the NVIDIA driver again, which builds its module")
    if others:
        yield Fix(f"Boot the kernel that has a module: {', '.join(others)}.", needs=(ROOT, REBOOT), kind=FixKind.INSTEAD)


@rule("GD208", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, since="0.1", predicts=False)
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
        else (install_driver(machine), keep_out),
    )


REFUSED = r"unsigned module is rejected|Key was rejected by service|PKCS#7 signature not signed|unsigned module loading is restricted"


@rule("GD209", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, since="0.1", predicts=False)
def secure_boot_unsigned_module(
    pci: Pci, kernel_driver: KernelDriver | Missing, modules: KernelModules, log: KernelLog | Missing, site: Site
) -> Iterator[Problem]:
    """Secure Boot is on, and the kernel refuses the NVIDIA module: no trusted signature.

    ## Why it matters
    With Secure Boot the kernel loads only modules that are signed with a key that the firmware or the machine's owner (MOK) trusts.
    A module that was built on this machine is signed with the machine's own key, if at all, and that key must be enrolled once, at
    the console. Until then `modprobe nvidia` says "Key was rejected by service".

    ## What to do
    Enroll the key: the command asks for a password, and the blue screen at the next boot asks for it again. Or install the
    distribution's signed modules. Or switch Secure Boot off in the firmware's setup.

    ## References
    - https://wiki.debian.org/SecureBoot
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """
    if site.container:
        not_applicable("the modules of a container's kernel are the host's")
    mine = undriven(pci, kernel_driver, site)
    module = next((one for one in need(modules.installed, Rung.KERNEL_DRIVER) if one.name == "nvidia"), None) if mine else None
    if module is None:
        return
    told = said(log, REFUSED)
    enforced = _enforced(modules)
    sure = bool(told) or (bool(enforced) and module.signed is False)
    elsewhere = any(isinstance(one.driver, str) for one in mine) or kept_out(modules, "nvidia")
    if not sure and (not enforced or elsewhere):
        return
    yield Problem(
        message="The kernel accepts only modules with a trusted signature"
        + (", and refused NVIDIA's." if told else ", and NVIDIA's has none." if sure else ", and NVIDIA's is there and not loaded."),
        confidence=Confidence.CERTAIN if sure else Confidence.POSSIBLE,
        evidence=(Evidence("signatures enforced", enforced or "yes", "the kernel"), _signature(module), *told),
        fixes=(
            *(() if sure else (_ASK_KERNEL,)),
            *_signed(site),
        ),
    )


def _enforced(modules: KernelModules) -> str:
    """Who says that signatures are enforced; Secure Boot alone counts where the kernel does not tell what it makes of it."""
    if modules.signatures_enforced is True:
        return "module.sig_enforce"
    if isinstance(modules.lockdown, str):
        return f"lockdown {modules.lockdown}" if modules.lockdown != "none" else ""
    if isinstance(modules.secure_boot, Missing) and modules.secure_boot.cause is not Cause.ABSENT:
        need(modules.secure_boot, Rung.KERNEL_DRIVER)
    return "Secure Boot" if modules.secure_boot is True else ""


def _signature(module: ModuleFile) -> Evidence:
    known = "signed" if module.signed is True else "not signed" if module.signed is False else module.signed.reason
    return Evidence("signature of the module", known, module.path)


_ASK_KERNEL = Fix('Ask the kernel; "Key was rejected by service" settles it', "sudo modprobe nvidia", (ROOT,), kind=FixKind.CHECK)
_SWITCH_OFF = Fix("Switch Secure Boot off in the firmware setup.", needs=(REBOOT,))
_ENROLL = {
    "ubuntu": Fix("Enroll the machine's key, then reboot", "sudo update-secureboot-policy --enroll-key", (ROOT, REBOOT)),
    "debian": Fix("Enroll the key of DKMS, then reboot", "sudo mokutil --import /var/lib/dkms/mok.pub", (ROOT, REBOOT)),
    "fedora": Fix(
        "Make and enroll a key for akmods, then reboot",
        "sudo kmodgenca -a && sudo mokutil --import /etc/pki/akmods/certs/public_key.der",
        (ROOT, REBOOT),
    ),
}


def _signed(site: Site) -> tuple[Fix, ...]:
    """How the kernel comes to accept the module: its key is enrolled, or signatures are no longer asked for."""
    enroll = next((_ENROLL[name] for name in site.distribution if name in _ENROLL), None)
    return (_SWITCH_OFF,) if enroll is None else (enroll, msgspec.structs.replace(_SWITCH_OFF, kind=FixKind.INSTEAD))


@rule("GD210", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, since="0.1", predicts=False)
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


RULES = (kernel_module_not_built, nouveau_loaded, secure_boot_unsigned_module, vfio_bound)
