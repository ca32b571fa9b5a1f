"""The NVIDIA modules on disk, and what can block them: headers, DKMS, blacklists, Secure Boot."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.probe import files
from gpudoctor.snapshot import NOT_ASKED, Blocked, Cause, DkmsModule, KernelModules, Missing, ModuleFile, readable

MODULES = "/lib/modules"
DKMS = "/var/lib/dkms"
CONFIGURATION = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
"""As in modprobe.d(5); of two files with one name the first counts."""
NAMES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem")
CONTENDED = ("nvidia", "nouveau", "nova_core", "nova", "nova_drm")
_DOES_NOTHING = ("/bin/false", "/bin/true", "/usr/bin/false", "/usr/bin/true")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
SIGNATURE = b"~Module signature appended~\n"


def kernel_modules(root: str, kernel: str | Missing, *, loaded: bool) -> KernelModules:
    """What exists for `kernel`, the running release. If a driver is `loaded` its files are not looked for."""
    general = KernelModules(
        secure_boot=_secure_boot(root),
        signatures_enforced=_flag(root, "/sys/module/module/parameters/sig_enforce"),
        lockdown=_lockdown(root),
        taint=files.number("/proc/sys/kernel/tainted", root),
        suspends=files.number("/sys/power/suspend_stats/success", root),
    )
    if loaded:
        return general
    installed = kernel if isinstance(kernel, Missing) else _installed(root, kernel)
    return msgspec.structs.replace(
        general,
        installed=installed,
        other_kernels=NOT_ASKED if isinstance(installed, tuple) and installed else _others(root, str(kernel)),
        headers=kernel if isinstance(kernel, Missing) else files.is_folder(f"{MODULES}/{kernel}/build", root),
        dkms=_dkms(root),
        blocked=_blocked(root),
    )


def _nvidia_modules(root: str, kernel: str) -> list[tuple[str, str]] | Missing:
    """Path and name of the NVIDIA modules in modprobe's list."""
    text = files.read(f"{MODULES}/{kernel}/modules.dep", root, 16 << 20)
    return text if isinstance(text, Missing) else list(_nvidia_modules_in(text))


def _nvidia_modules_in(text: str) -> Iterator[tuple[str, str]]:
    """Our modules from the lines "path: paths of its dependencies"."""
    place = text.find("/nvidia")
    while place >= 0:
        start, colon = text.rfind("\n", 0, place) + 1, text.find(":", place)
        path = text[start:colon]
        name = _module(path.rpartition("/")[2].partition(".")[0])
        if name in NAMES and " " not in path:
            yield path, name
        place = text.find("/nvidia", max(colon, place + 1))


def _installed(root: str, kernel: str) -> tuple[ModuleFile, ...] | Missing:
    listed = _nvidia_modules(root, kernel)
    if isinstance(listed, Missing):
        return listed
    found = []
    for path, name in listed:
        place = path if path.startswith("/") else f"{MODULES}/{kernel}/{path}"
        found.append(ModuleFile(name=name, path=readable(place), signed=_signed(root, place)))
    return tuple(found)


def _signed(root: str, place: str) -> bool | Missing:
    if not place.endswith(".ko"):
        return Missing(Cause.UNSUPPORTED, "the file is compressed")
    kept = files.end(place, root, len(SIGNATURE))
    return kept if isinstance(kept, Missing) else kept == SIGNATURE


def _others(root: str, kernel: str) -> tuple[str, ...] | Missing:
    """Other kernels with a module; only read if the running one has none, because a list takes a millisecond."""
    kernels = files.names(MODULES, root)
    if isinstance(kernels, Missing):
        return kernels
    return tuple(
        readable(other) for other in kernels if other != kernel and isinstance(found := _nvidia_modules(root, other), list) and found
    )


def _dkms(root: str) -> tuple[DkmsModule, ...] | Missing:
    names = files.names(DKMS, root)
    if isinstance(names, Missing):
        return names
    ours = [(name, version) for name in names if name.startswith("nvidia") for version in files.entries(f"{DKMS}/{name}", root)]
    return tuple(
        _dkms_module(root, name, version)
        for name, version in ours
        if not version.startswith("kernel-") and files.is_folder(f"{DKMS}/{name}/{version}", root)
    )


def _dkms_module(root: str, name: str, version: str) -> DkmsModule:
    """A successful build creates the kernel's folder; a failed one leaves its log."""
    place = f"{DKMS}/{name}/{version}"
    built = [entry for entry in files.entries(place, root) if files.is_folder(f"{place}/{entry}", root)]
    log = files.text(f"{place}/build/make.log", root, 4096)  # "DKMS make.log for nvidia-550.163.01 for kernel 6.1.0 (x86_64)"
    begun = log.partition("\n")[0].partition(" for kernel ")[2].partition(" ")[0]
    kernels = tuple(readable(kernel) for kernel in built if kernel not in {"build", "source"})
    failed = (begun,) if begun and begun not in kernels else ()
    return DkmsModule(name=readable(name), version=readable(version), kernels=kernels, failed=failed)


def _blocked(root: str) -> tuple[Blocked, ...]:
    found, seen = [], set()
    for folder in CONFIGURATION:
        for name in files.entries(folder, root):
            if name.endswith(".conf") and name not in seen:
                seen.add(name)
                found += _ruled_out(files.lines(f"{folder}/{name}", root), f"{folder}/{name}")
    for word in files.text("/proc/cmdline", root, 8192).split():
        key, _, value = word.partition("=")
        if key in {"modprobe.blacklist", "module_blacklist", "rd.driver.blacklist"}:
            how = "install" if key == "module_blacklist" else "blacklist"
            found += [Blocked(one, "/proc/cmdline", how) for one in map(_module, value.split(",")) if one in CONTENDED]
    return tuple(found)


def _ruled_out(lines: list[str], where: str) -> list[Blocked]:
    found = []
    for words in map(str.split, lines):
        how, name, command = (*words[:3], "", "", "")[:3]
        if _module(name) in CONTENDED and (how == "blacklist" or (how == "install" and command in _DOES_NOTHING)):
            found.append(Blocked(_module(name), readable(where), how))
    return found


def _module(name: str) -> str:
    """Return a module's name as the kernel lists it: dashes and underscores are the same to modprobe and to the kernel."""
    return name.replace("-", "_")


def _secure_boot(root: str) -> bool | Missing:
    """The variable's last byte, after four bytes of attributes."""
    if not files.is_folder("/sys/firmware/efi", root):
        return Missing(Cause.ABSENT, "the machine did not boot with UEFI")
    text = files.read(SECURE_BOOT, root, 64)
    if isinstance(text, Missing):
        return Missing(Cause.FAILED, text.reason) if text.cause is Cause.ABSENT else text
    return text.endswith("\x01")


def _flag(root: str, path: str) -> bool | Missing:
    text = files.read(path, root, 64)
    return text if isinstance(text, Missing) else text.strip() in {"Y", "1"}


def _lockdown(root: str) -> str | Missing:
    """The word in brackets of "none [integrity] confidentiality"."""
    path = "/sys/kernel/security/lockdown"
    text = files.read(path, root, 256)
    if isinstance(text, Missing):
        return text
    return text.partition("[")[2].partition("]")[0] or Missing(Cause.FAILED, f"{path} contains {text[:40]!r}")
