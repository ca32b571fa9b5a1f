"""The kernel driver, its modules and the errors that a kernel log in a text shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.sections.host import kernel_release
from gpudoctor.read.sections.statement_index import NOT_STATED, StatementIndex
from gpudoctor.read.statements import Directness, Statement
from gpudoctor.snapshot import (
    Cause,
    DkmsModule,
    Fact,
    KernelDriver,
    KernelLog,
    KernelModules,
    Missing,
    ModuleFile,
    XidEvent,
    normalise_address,
)

_NOT_LOADED_MESSAGE = expression(r"communicate with the NVIDIA driver|Driver Not Loaded", re.IGNORECASE)
_OPEN_FLAVOUR = expression(r"(?i)open|Dual MIT/GPL")
"""How the open kernel modules and their packages are called, and their licence."""
_DRIVER_MODULES = ("nvidia", "nouveau", "nova_core")
_DKMS_ROW = expression(r"(?P<name>[\w-]{1,60})(?:/|, )(?P<version>[\w.~+-]{1,40})(?:, (?P<kernel>\S{1,80}))?")


def stated_kernel_driver(stated: StatementIndex) -> KernelDriver | Missing:
    """Return the loaded kernel module; absent if the text shows that none is loaded."""
    version = _loaded_version(stated)
    modules, flavour = _loaded_modules(stated), stated.get("flavour")
    if version is NOT_STATED and isinstance(modules, Missing) and flavour is None:
        return NOT_STATED
    return KernelDriver(
        version=version,
        flavour=NOT_STATED if flavour is None else "open" if _OPEN_FLAVOUR.search(flavour.value) else "proprietary",
        modules=modules,
    )


def _loaded_version(stated: StatementIndex) -> Fact | Missing:
    module, driver, refusal = stated.get("module"), stated.get("driver"), stated.get("nvml error")
    if module:
        return Fact(module.value, module.where)
    listed, modules = stated.get("lsmod"), stated.all("loaded:")
    if (driver and driver.rank is Directness.TOOL) or "nvidia" in modules:
        return NOT_STATED
    proofs = (
        listed,
        stated.get("no module"),
        stated.get("no module for"),
        refusal if refusal and _NOT_LOADED_MESSAGE.search(refusal.value) else None,
    )
    proof = next(filter(None, proofs), None)
    return Missing(Cause.ABSENT, f"{proof.where} shows that it is not loaded") if proof else NOT_STATED


def _loaded_modules(stated: StatementIndex) -> tuple[str, ...] | Missing:
    """Return the loaded modules. A list that was searched for one word is whole if it has nvidia, whose row names the modules that use it."""
    rows = stated.all("loaded:")
    users = rows["nvidia"].value.split()[2:] if "nvidia" in rows else []
    names = [*rows, *(name for name in ",".join(users).split(",") if name)]
    evident = "lsmod" if stated.get("lsmod") else next((name for name in rows if name in _DRIVER_MODULES), "")
    return tuple(dict.fromkeys(names)) if evident else NOT_STATED


def stated_kernel_modules(stated: StatementIndex) -> KernelModules | Missing:
    """Return the modules on disk and Secure Boot, as DKMS, lists of packages, modinfo and mokutil show them."""
    sources, file, secure_boot = _dkms_sources(stated), stated.get("module file"), stated.get("secure boot")
    packaged = stated.all("module package:")
    lacking, refused = stated.get("no module for"), stated.get("module error")
    if not (sources or packaged or file or secure_boot or lacking or refused):
        return NOT_STATED
    running = kernel_release(stated)
    built = {*packaged, *(kernel for source in sources for kernel in source.kernels)}
    installed: tuple[ModuleFile, ...] | Missing = NOT_STATED
    if file:
        installed = (ModuleFile("nvidia", file.value, signed=True if stated.get("module signer") else NOT_STATED),)
    elif running in built or (refused and not lacking):
        installed = (ModuleFile("nvidia", f"/lib/modules/{running or '$(uname -r)'}"),)
    elif lacking or ((sources or packaged) and running):
        installed = ()
    return KernelModules(
        installed=installed,
        other_kernels=tuple(sorted(built - {running})) if running else NOT_STATED,
        dkms=sources or NOT_STATED,
        secure_boot=NOT_STATED if secure_boot is None else secure_boot.value == "enabled",
    )


def _dkms_sources(stated: StatementIndex) -> tuple[DkmsModule, ...]:
    kernels: dict[tuple[str, str], list[str]] = {}
    for row, statement in stated.all("dkms:").items():
        found = _DKMS_ROW.fullmatch(row)
        if found:
            of_source = kernels.setdefault((found["name"], found["version"]), [])
            if found["kernel"] and statement.value != "added":
                of_source.append(found["kernel"])
    return tuple(DkmsModule(name, version, tuple(built)) for (name, version), built in kernels.items())


def stated_kernel_log(statements: Sequence[Statement]) -> KernelLog | Missing:
    """Return the Xid and SXid errors in the text, and the other lines about a GPU or its driver."""
    events = tuple(_xid_event(statement) for statement in statements if statement.what.startswith(("xid:", "sxid:")))
    lines = tuple(statement.value for statement in statements if statement.what == "kernel line")
    return KernelLog(where="the text", events=events, lines=lines) if events or lines else NOT_STATED


def _xid_event(statement: Statement) -> XidEvent:
    kind, _, address = statement.what.partition(":")
    code, _, text = statement.value.partition(",")
    return XidEvent(code=int(code), address=normalise_address(address) or NOT_STATED, text=text.strip(), switch=kind == "sxid")
