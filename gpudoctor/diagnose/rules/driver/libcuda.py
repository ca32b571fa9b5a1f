"""GD2: which libcuda a program would load, and whether it is the driver's own."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive import MachineView, Site
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.shell import shell_list
from gpudoctor.diagnose.advice.system import unset
from gpudoctor.findings import Evidence, Fix, FixKind
from gpudoctor.snapshot import CudaFile, Fact, KernelDriver, Libcuda, Missing, Snapshot, Status

_COMPAT_NOT_SUPPORTED, _MISMATCH = 804, 803


def _said(libcuda: Libcuda, snapshot: Snapshot) -> tuple[Evidence, ...]:
    """What cuInit answered, from which file, and what brought the loader there."""
    code = library.code(libcuda)
    name = libcuda.init.name if isinstance(libcuda.init, Status) else ""
    values = {} if isinstance(snapshot.variables, Missing) else snapshot.variables.values
    return (
        Evidence("libcuda that was loaded", library.path(libcuda) or "not known", "/proc/self/maps"),
        *((Evidence("cuInit", f"{code} {name}", "libcuda"),) if code else ()),
        *(Evidence(one, values[one], "environment") for one in ("LD_LIBRARY_PATH", "LD_PRELOAD") if values.get(one)),
    )


def _take_away(path: str, snapshot: Snapshot, site: Site) -> tuple[Fix, ...]:
    """How to get a file off the loader's path: out of the variable that names its folder, else out of the loader's configuration."""
    folder = path.rpartition("/")[0]
    values = {} if isinstance(snapshot.variables, Missing) else snapshot.variables.values
    if path and values.get("LD_PRELOAD") and path in values["LD_PRELOAD"].replace(":", " ").split():
        return (unset("LD_PRELOAD"),)
    entries = [one for one in values.get("LD_LIBRARY_PATH", "").split(":") if one]
    left = [one for one in entries if one.rstrip("/") != folder]
    image = " (in a container, change the image as well)" if site.container else ""
    if len(left) < len(entries):
        line = f"export LD_LIBRARY_PATH={shell_list(left)}" if left else "unset LD_LIBRARY_PATH"
        return (Fix(f"Take {folder} out of LD_LIBRARY_PATH, here and where it is set{image}", line),)
    if not path:
        return (Fix("Take the folder of this libcuda off the loader's path."),)
    line = f"sudo sed -i '\\#^{folder}/*$#s/^/# /' /etc/ld.so.conf.d/*.conf && sudo ldconfig"
    return (Fix(f"Take {folder} out of the loader's configuration{image}", line, (ROOT,)),)


def _newer(path: str, machine: MachineView) -> Fix:
    """The driver with which no cuda-compat library is needed: one of that library's own release."""
    release = library.release(path)
    least = versions.parse(release.text) if release else None
    title = "" if least else "Update the NVIDIA driver"
    return msgspec.structs.replace(update_driver(machine, least, what=title), kind=FixKind.INSTEAD)


def _module(kernel_driver: KernelDriver | Missing) -> str:
    version = kernel_driver.version if isinstance(kernel_driver, KernelDriver) else kernel_driver
    return version.value if isinstance(version, Fact) else "not known"


def _listed(files: list[CudaFile]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence("libcuda on disk", file.path, f"{file.bits}-bit, {file.machine}" if isinstance(file.bits, int) else "no ELF file")
        for file in files
    )
