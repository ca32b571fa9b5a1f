"""The NVIDIA modules on disk, and what can block them: headers, DKMS, blacklists, Secure Boot."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.probe import files
from gpudoctor.snapshot import NOT_ASKED, Blocked, Cause, DkmsModule, KernelModules, Missing, ModuleFile, printable_text

MODULES_FOLDER = "/lib/modules"
DKMS_FOLDER = "/var/lib/dkms"
MODPROBE_FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
"""As in modprobe.d(5); of two files with one name the first counts."""
NVIDIA_MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem")
BLOCKABLE_MODULES = ("nvidia", "nouveau", "nova_core", "nova", "nova_drm")
_NULL_COMMANDS = ("/bin/false", "/bin/true", "/usr/bin/false", "/usr/bin/true")
SECURE_BOOT_VARIABLE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
SIGNATURE_MARK = b"~Module signature appended~\n"


def kernel_modules(root: str, kernel: str | Missing, *, loaded: bool) -> KernelModules:
    """What exists for `kernel`, the running release. If a driver is `loaded` its files are not looked for."""
    general = KernelModules(
        secure_boot=_is_secure_boot_on(root),
        signatures_enforced=_is_flag_set(root, "/sys/module/module/parameters/sig_enforce"),
        lockdown=_lockdown_mode(root),
        taint=files.read_number("/proc/sys/kernel/tainted", root),
        suspends=files.read_number("/sys/power/suspend_stats/success", root),
    )
    if loaded:
        return general
    installed = kernel if isinstance(kernel, Missing) else _installed_modules(root, kernel)
    return msgspec.structs.replace(
        general,
        installed=installed,
        other_kernels=NOT_ASKED if isinstance(installed, tuple) and installed else _other_kernels(root, str(kernel)),
        headers=kernel if isinstance(kernel, Missing) else files.is_folder(f"{MODULES_FOLDER}/{kernel}/build", root),
        dkms=_dkms_modules(root),
        blocked=_blocked_modules(root),
    )


def _nvidia_modules(root: str, kernel: str) -> list[tuple[str, str]] | Missing:
    """Path and name of the NVIDIA modules in modprobe's list."""
    text = files.read_text(f"{MODULES_FOLDER}/{kernel}/modules.dep", root, 16 << 20)
    return text if isinstance(text, Missing) else list(_nvidia_modules_in(text))


def _nvidia_modules_in(text: str) -> Iterator[tuple[str, str]]:
    """Our modules from the lines "path: paths of its dependencies"."""
    place = text.find("/nvidia")
    while place >= 0:
        start, colon = text.rfind("\n", 0, place) + 1, text.find(":", place)
        path = text[start:colon]
        name = _module_name(path.rpartition("/")[2].partition(".")[0])
        if name in NVIDIA_MODULES and " " not in path:
            yield path, name
        place = text.find("/nvidia", max(colon, place + 1))


def _installed_modules(root: str, kernel: str) -> tuple[ModuleFile, ...] | Missing:
    listed = _nvidia_modules(root, kernel)
    if isinstance(listed, Missing):
        return listed
    found = []
    for path, name in listed:
        place = path if path.startswith("/") else f"{MODULES_FOLDER}/{kernel}/{path}"
        found.append(ModuleFile(name=name, path=printable_text(place), signed=_is_signed(root, place)))
    return tuple(found)


def _is_signed(root: str, place: str) -> bool | Missing:
    if not place.endswith(".ko"):
        return Missing(Cause.UNSUPPORTED, "the file is compressed")
    kept = files.read_last_bytes(place, root, len(SIGNATURE_MARK))
    return kept if isinstance(kept, Missing) else kept == SIGNATURE_MARK


def _other_kernels(root: str, kernel: str) -> tuple[str, ...] | Missing:
    """Other kernels with a module; only read if the running one has none, because a list takes a millisecond."""
    kernels = files.list_folder(MODULES_FOLDER, root)
    if isinstance(kernels, Missing):
        return kernels
    return tuple(
        printable_text(other) for other in kernels if other != kernel and isinstance(found := _nvidia_modules(root, other), list) and found
    )


def _dkms_modules(root: str) -> tuple[DkmsModule, ...] | Missing:
    names = files.list_folder(DKMS_FOLDER, root)
    if isinstance(names, Missing):
        return names
    ours = [
        (name, version) for name in names if name.startswith("nvidia") for version in files.entries_or_empty(f"{DKMS_FOLDER}/{name}", root)
    ]
    return tuple(
        _dkms_module(root, name, version)
        for name, version in ours
        if not version.startswith("kernel-") and files.is_folder(f"{DKMS_FOLDER}/{name}/{version}", root)
    )


def _dkms_module(root: str, name: str, version: str) -> DkmsModule:
    """A successful build creates the kernel's folder; a failed one leaves its log."""
    place = f"{DKMS_FOLDER}/{name}/{version}"
    built = [entry for entry in files.entries_or_empty(place, root) if files.is_folder(f"{place}/{entry}", root)]
    log = files.text_or_empty(f"{place}/build/make.log", root, 4096)  # "DKMS make.log for nvidia-550.163.01 for kernel 6.1.0 (x86_64)"
    begun = log.partition("\n")[0].partition(" for kernel ")[2].partition(" ")[0]
    kernels = tuple(printable_text(kernel) for kernel in built if kernel not in {"build", "source"})
    failed = (begun,) if begun and begun not in kernels else ()
    return DkmsModule(name=printable_text(name), version=printable_text(version), kernels=kernels, failed=failed)


def _blocked_modules(root: str) -> tuple[Blocked, ...]:
    found, seen = [], set()
    for folder in MODPROBE_FOLDERS:
        for name in files.entries_or_empty(folder, root):
            if name.endswith(".conf") and name not in seen:
                seen.add(name)
                found += _modules_blocked_by(files.lines_or_empty(f"{folder}/{name}", root), f"{folder}/{name}")
    for word in files.text_or_empty("/proc/cmdline", root, 8192).split():
        key, _, value = word.partition("=")
        if key in {"modprobe.blacklist", "module_blacklist", "rd.driver.blacklist"}:
            how = "install" if key == "module_blacklist" else "blacklist"
            found += [Blocked(one, "/proc/cmdline", how) for one in map(_module_name, value.split(",")) if one in BLOCKABLE_MODULES]
    return tuple(found)


def _modules_blocked_by(lines: list[str], where: str) -> list[Blocked]:
    found = []
    for words in map(str.split, lines):
        how, name, command = (*words[:3], "", "", "")[:3]
        if _module_name(name) in BLOCKABLE_MODULES and (how == "blacklist" or (how == "install" and command in _NULL_COMMANDS)):
            found.append(Blocked(_module_name(name), printable_text(where), how))
    return found


def _module_name(name: str) -> str:
    """Return a module's name as the kernel lists it: dashes and underscores are the same to modprobe and to the kernel."""
    return name.replace("-", "_")


def _is_secure_boot_on(root: str) -> bool | Missing:
    """The variable's last byte, after four bytes of attributes."""
    if not files.is_folder("/sys/firmware/efi", root):
        return Missing(Cause.ABSENT, "the machine did not boot with UEFI")
    text = files.read_text(SECURE_BOOT_VARIABLE, root, 64)
    if isinstance(text, Missing):
        return Missing(Cause.FAILED, text.reason) if text.cause is Cause.ABSENT else text
    return text.endswith("\x01")


def _is_flag_set(root: str, path: str) -> bool | Missing:
    text = files.read_text(path, root, 64)
    return text if isinstance(text, Missing) else text.strip() in {"Y", "1"}


def _lockdown_mode(root: str) -> str | Missing:
    """The word in brackets of "none [integrity] confidentiality"."""
    path = "/sys/kernel/security/lockdown"
    text = files.read_text(path, root, 256)
    if isinstance(text, Missing):
        return text
    return text.partition("[")[2].partition("]")[0] or Missing(Cause.FAILED, f"{path} contains {text[:40]!r}")
