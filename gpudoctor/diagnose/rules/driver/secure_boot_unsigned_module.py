import msgspec

from gpudoctor.derive import MachineView, Site, require_known
from gpudoctor.diagnose.advice.kernel_log import kernel_log_evidence
from gpudoctor.diagnose.rule import DRIVER_NOT_LOADED, advises, explains, rule
from gpudoctor.findings import REBOOT, ROOT, Confidence, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import KernelModules, Missing, ModuleFile, is_absent

_REJECTED = r"(unsigned module|module with (unsupported crypto|unavailable key)) is rejected|Key was rejected by service|Required key not available|PKCS#7 signature not signed|unsigned module loading is restricted"
_TRY_LOADING = Fix('Try to load the module; "Key was rejected by service" confirms it', "sudo modprobe nvidia", kind=FixKind.CHECK)
_SWITCH_OFF = Fix("Switch Secure Boot off in the firmware setup.", needs=(REBOOT,))
_ENROLL_DKMS = Fix(
    "Enroll the DKMS key, reboot, and choose Enroll MOK on the blue screen", "sudo mokutil --import /var/lib/dkms/mok.pub", (REBOOT,)
)
_ENROLL_KEY = {
    "ubuntu": Fix(
        "Enroll the machine's key, reboot, and choose Enroll MOK on the blue screen",
        "sudo update-secureboot-policy --enroll-key",
        (REBOOT,),
    ),
    "debian": _ENROLL_DKMS,
    "rhel": _ENROLL_DKMS,
    "fedora": Fix(
        "Create and enroll a key for akmods, reboot, and choose Enroll MOK on the blue screen",
        "sudo kmodgenca -a && sudo mokutil --import /etc/pki/akmods/certs/public_key.der",
        (REBOOT,),
    ),
}
_ENROLL_ANY_KEY = Fix(
    "Enroll the key that signs the module (mokutil --import), reboot, and choose Enroll MOK on the blue screen.", needs=(ROOT, REBOOT)
)


@rule("GD209", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, predicts=False)
@advises(lambda machine: _fixes(machine.site))
@explains(DRIVER_NOT_LOADED, "The kernel does not load a module whose signature it does not trust.")
@explains(("nouveau-loaded", "nova-loaded"), "The kernel's own driver binds a GPU that NVIDIA's does not claim.")
def secure_boot_unsigned_module(machine: MachineView) -> Problems:
    """Secure Boot blocks the NVIDIA kernel module."""
    modules = machine.kernel.module_files
    module = machine.kernel.nvidia_module if machine.kernel.lacks_driver else None
    if module is None:
        return
    refusal = kernel_log_evidence(machine, _REJECTED)
    enforced = "" if refusal and isinstance(modules.secure_boot, Missing) else _enforcement(modules)
    certain = bool(refusal) or (bool(enforced) and module.signed is False)
    other_reason = machine.kernel.has_other_driver or machine.kernel.blocked("nvidia")
    if not certain and (not enforced or other_reason):
        return
    if refusal:
        message = "The kernel rejected the NVIDIA module: its signature is not trusted."
    elif certain:
        message = "The kernel loads only signed modules, and the NVIDIA module is not signed."
    else:
        message = "The kernel loads only modules with a trusted signature, and the NVIDIA module is installed but not loaded."
    yield Problem(
        message=message,
        confidence=Confidence.CERTAIN if certain else Confidence.POSSIBLE,
        evidence=(Evidence("signatures enforced", enforced or "yes", "the kernel"), _signature_evidence(module), *refusal),
        fixes=(*(() if certain else (_TRY_LOADING,)), *((_sign_module(modules),) if module.signed is False else ()), *_fixes(machine.site)),
    )


def _enforcement(modules: KernelModules) -> str:
    """Return what enforces signatures; empty where nothing does. Secure Boot counts only where the kernel does not report its lockdown."""
    if modules.signatures_enforced is True:
        return "module.sig_enforce"
    if isinstance(modules.lockdown, str):
        return f"lockdown {modules.lockdown}" if modules.lockdown != "none" else ""
    secure_boot = modules.secure_boot
    if is_absent(secure_boot):
        return ""
    return "Secure Boot" if require_known(secure_boot, Rung.KERNEL_DRIVER) else ""


def _signature_evidence(module: ModuleFile) -> Evidence:
    if isinstance(module.signed, Missing):
        return Evidence("module signature", module.signed.reason, module.path)
    return Evidence("module signature", "signed" if module.signed else "not signed", module.path)


def _sign_module(modules: KernelModules) -> Fix:
    """Return the fix that signs the module: DKMS signs what it builds, with a key that it makes if it has none."""
    sources = modules.dkms if isinstance(modules.dkms, tuple) else ()
    names = [f"{source.name}/{source.version}" for source in sources]
    command = " && ".join(f"sudo dkms build --force {name} && sudo dkms install --force {name}" for name in names)
    title = "Build the module again: DKMS signs it with its key"
    return Fix(title if command else f"{title} (dkms build --force, then dkms install --force).", command, (ROOT,))


def _fixes(site: Site) -> tuple[Fix, ...]:
    """Return the fixes that enroll the module's key, or switch Secure Boot off."""
    enroll = next((_ENROLL_KEY[name] for name in site.distribution if name in _ENROLL_KEY), _ENROLL_ANY_KEY)
    return enroll, msgspec.structs.replace(_SWITCH_OFF, kind=FixKind.INSTEAD)
