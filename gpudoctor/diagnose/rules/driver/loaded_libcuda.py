"""The libcuda that the loader finds: what its cuInit returned, and how to load another one."""

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.derive import Driver, MachineView
from gpudoctor.derive import libcuda as library
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.shell import set_library_path
from gpudoctor.diagnose.advice.system import unset_variable
from gpudoctor.findings import Evidence, Fix, FixKind
from gpudoctor.findings.wording import joined_words
from gpudoctor.snapshot import CudaFile, Missing, Status


def libcuda_evidence(machine: MachineView) -> Iterator[Evidence]:
    """Return which libcuda was loaded, what its cuInit returned, and the variables that lead the loader to it."""
    libcuda, values = machine.libcuda, machine.environment.set_variables
    yield Evidence("loaded libcuda", library.loaded_path(libcuda) or "not known", "/proc/self/maps")
    if isinstance(libcuda.init, Status) and libcuda.init.code:
        yield Evidence("cuInit", f"{libcuda.init.code} {libcuda.init.name}", "libcuda")
    for name in ("LD_LIBRARY_PATH", "LD_PRELOAD"):
        if name in values:
            yield Evidence(name, values[name], "environment")


def kernel_module_evidence(machine: MachineView) -> Evidence:
    """Return the version of the loaded kernel module, as evidence."""
    return Evidence("kernel driver", machine.kernel.driver_version or "not known", "/proc/driver/nvidia/version")


def kernel_driver_text(machine: MachineView) -> str:
    """Return the kernel driver with its version, as part of a sentence."""
    version = machine.kernel.driver_version
    return f"kernel driver {version}" if version else "the kernel driver"


def libcuda_files(files: Iterable[CudaFile]) -> tuple[Evidence, ...]:
    """Return files of libcuda with their architecture, as evidence."""
    return tuple(
        Evidence("libcuda on disk", file.path, f"{file.bits}-bit, {file.machine}" if isinstance(file.bits, int) else "not an ELF file")
        for file in files
    )


def remove_from_path(path: str, machine: MachineView) -> Fix:
    """Return the fix that removes a file's folder from the variable that names it, else from the loader's configuration."""
    folder, values = path.rpartition("/")[0], machine.environment.set_variables
    if path and path in values.get("LD_PRELOAD", "").replace(":", " ").split():
        return unset_variable("LD_PRELOAD", machine)
    image = " (in a container, change the image as well)" if machine.site.container else ""
    entries = [entry for entry in values.get("LD_LIBRARY_PATH", "").split(":") if entry]
    names = {folder, *_folders_linking_to(path, machine)}
    left = [entry for entry in entries if entry.rstrip("/") not in names]
    if len(left) < len(entries):
        removed = joined_words(entry for entry in entries if entry not in left)
        return Fix(f"Remove {removed} from LD_LIBRARY_PATH, here and where it is set{image}", set_library_path(left))
    if not path:
        return Fix("Remove this libcuda's folder from the loader's path.")
    command = f"sudo sed -i '\\#^{folder}/*$#s/^/# /' /etc/ld.so.conf.d/*.conf && sudo ldconfig"
    return Fix(f"Remove {folder} from the loader's configuration{image}", command)


def _folders_linking_to(path: str, machine: MachineView) -> set[str]:
    """Return the folders that link to a file: the loader is told of /usr/local/cuda, and maps /usr/local/cuda-12.4."""
    files = machine.observed.cuda_files
    return set() if isinstance(files, Missing) else {file.path.rpartition("/")[0] for file in files.libcuda if file.real == path}


def remove_compat(path: str, machine: MachineView) -> tuple[Fix, ...]:
    """Return the fixes that load the driver's libcuda instead of cuda-compat's, or update an older driver to that library's version."""
    release, driver = library.release_in_name(path), machine.driver_or_missing
    if release is not None and isinstance(driver, Driver) and driver.version >= release:
        return (remove_from_path(path, machine),)
    update = update_driver(machine, release, title="" if release else "Update the NVIDIA driver")
    return remove_from_path(path, machine), msgspec.structs.replace(update, kind=FixKind.INSTEAD)
