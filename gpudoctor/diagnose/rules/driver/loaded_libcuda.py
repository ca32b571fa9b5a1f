"""The libcuda that the loader takes: what it answered, and how to have another one loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.derive import MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.shell import shell_list
from gpudoctor.diagnose.advice.system import unset
from gpudoctor.findings import Evidence, Fix, FixKind
from gpudoctor.snapshot import CudaFile, Status


def loaded_libcuda(machine: MachineView) -> Iterator[Evidence]:
    """Which libcuda was loaded, what its cuInit answered, and which variables lead the loader to it."""
    libcuda, values = machine.libcuda, machine.environment.set_variables
    yield Evidence("libcuda that was loaded", library.path(libcuda) or "not known", "/proc/self/maps")
    if isinstance(libcuda.init, Status) and libcuda.init.code:
        yield Evidence("cuInit", f"{libcuda.init.code} {libcuda.init.name}", "libcuda")
    for name in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
        if name in values:
            yield Evidence(name, values[name], "environment")


def kernel_module(machine: MachineView) -> Evidence:
    """The release of the loaded kernel module, as evidence."""
    return Evidence("kernel driver", machine.kernel.driver_version or "not known", "/proc/driver/nvidia/version")


def files_on_disk(files: Iterable[CudaFile]) -> tuple[Evidence, ...]:
    """Files of libcuda with their architecture, as evidence."""
    return tuple(
        Evidence("libcuda on disk", file.path, f"{file.bits}-bit, {file.machine}" if isinstance(file.bits, int) else "no ELF file")
        for file in files
    )


def take_off_path(path: str, machine: MachineView) -> Fix:
    """How to take a file off the loader's path: out of the variable that names its folder, else out of the loader's configuration."""
    folder, values = path.rpartition("/")[0], machine.environment.set_variables
    if path and path in values.get("LD_PRELOAD", "").replace(":", " ").split():
        return unset("LD_PRELOAD")
    image = " (in a container, change the image as well)" if machine.site.container else ""
    entries = [entry for entry in values.get("LD_LIBRARY_PATH", "").split(":") if entry]
    left = [entry for entry in entries if entry.rstrip("/") != folder]
    if len(left) < len(entries):
        command = f"export LD_LIBRARY_PATH={shell_list(left)}" if left else "unset LD_LIBRARY_PATH"
        return Fix(f"Remove {folder} from LD_LIBRARY_PATH, here and where it is set{image}", command)
    if not path:
        return Fix("Take the folder of this libcuda off the loader's path.")
    command = f"sudo sed -i '\\#^{folder}/*$#s/^/# /' /etc/ld.so.conf.d/*.conf && sudo ldconfig"
    return Fix(f"Remove {folder} from the loader's configuration{image}", command, (ROOT,))


def do_without_compat(path: str, machine: MachineView) -> tuple[Fix, Fix]:
    """How to load the driver's libcuda in place of cuda-compat's, or to update the driver to the release of that library."""
    release = library.release(path)
    update = update_driver(machine, release, title="" if release else "Update the NVIDIA driver")
    return take_off_path(path, machine), msgspec.structs.replace(update, kind=FixKind.INSTEAD)
