"""GD209: secure-boot-unsigned-module."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.kernel_facts import kept_out, said, undriven
from gpudoctor.diagnose.rule import Explains, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, KernelDriver, KernelLog, KernelModules, Missing, ModuleFile, Pci

REFUSED = r"unsigned module is rejected|Key was rejected by service|PKCS#7 signature not signed|unsigned module loading is restricted"


@rule(
    "GD209",
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
                "nouveau-loaded",
                "nova-loaded",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
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
