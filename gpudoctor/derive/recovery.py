"""Problems that may disappear shortly after boot: with the driver, its device files, NVML, the fabric."""

from __future__ import annotations

from gpudoctor.derive.device_nodes import CONTROL_FILE, UVM_FILE, is_gpu_node
from gpudoctor.derive.gpus import Gpu
from gpudoctor.derive.site import Site
from gpudoctor.snapshot import Cause, DeviceNodes, KernelDriver, Libcuda, Missing, Node, Nvml, PciDevice, Snapshot, Status, is_absent
from gpudoctor.status_codes import DRIVER_UNUSABLE_ERRORS, CudaError, NvmlError

_RECOVERING_NVML_ERRORS: dict[int, str] = {
    NvmlError.UNINITIALIZED: "NVML is not initialised yet",
    NvmlError.DRIVER_NOT_LOADED: "the NVIDIA kernel driver is not loaded yet",
    NvmlError.NOT_READY: "NVML is not ready yet",
}


def awaited_recovery(snapshot: Snapshot, gpus: tuple[Gpu, ...], site: Site) -> str:
    """What waiting may fix, in a few words; empty if nothing is wrong, or nothing that recovers by itself.

    An uninstalled driver, a GPU bound to another driver and a container's missing device files do not recover.
    """
    if not gpus or not _is_driver_installed(snapshot):
        return ""
    plain = isinstance(snapshot.libcuda_unmasked, Missing)
    nvml, cuda = _init_code(snapshot.nvml), _init_code(snapshot.libcuda if plain else snapshot.libcuda_unmasked)
    if cuda == CudaError.SYSTEM_NOT_READY:
        return "CUDA waits for the fabric (802)"
    if site.container or not site.has_pci or _are_bound_elsewhere(gpus) or _is_forbidden(snapshot.device_nodes):
        return ""
    if isinstance(snapshot.kernel_driver, KernelDriver) and is_absent(snapshot.kernel_driver.version):
        return _RECOVERING_NVML_ERRORS[NvmlError.DRIVER_NOT_LOADED]
    lacking = _missing_node(snapshot.device_nodes, gpus, uvm=cuda in DRIVER_UNUSABLE_ERRORS)
    return f"{lacking} is not there yet" if lacking else _RECOVERING_NVML_ERRORS.get(nvml, "")


def _is_driver_installed(snapshot: Snapshot) -> bool:
    """Whether any part of a driver is installed: its module, or one of its libraries."""
    sections = (snapshot.nvml, snapshot.libcuda)
    loaded = isinstance(snapshot.kernel_driver, KernelDriver) and not isinstance(snapshot.kernel_driver.version, Missing)
    return loaded or not all(is_absent(section) for section in sections)


def _init_code(section: Nvml | Libcuda | Missing) -> int:
    """The library's initialisation code; 0 if it did not answer."""
    return section.init.code if not isinstance(section, Missing) and isinstance(section.init, Status) else 0


def _are_bound_elsewhere(gpus: tuple[Gpu, ...]) -> bool:
    """Whether another driver has each GPU: nouveau, or vfio-pci for a virtual machine."""
    drivers = [gpu.pci.driver if isinstance(gpu.pci, PciDevice) else "" for gpu in gpus]
    return all(isinstance(driver, str) and driver not in {"", "nvidia"} for driver in drivers)


def _nodes_by_path(section: DeviceNodes | Missing) -> dict[str, Node]:
    return {node.path: node for node in section.nodes} if isinstance(section, DeviceNodes) else {}


def _is_forbidden(section: DeviceNodes | Missing) -> bool:
    """Whether this user may not open the existing files, which waiting does not change."""
    return any(node.accessible is False for path, node in _nodes_by_path(section).items() if is_gpu_node(path) or path == CONTROL_FILE)


def _missing_node(section: DeviceNodes | Missing, gpus: tuple[Gpu, ...], *, uvm: bool) -> str:
    """The first missing device file of a loaded driver."""
    if isinstance(section, Missing) and section.cause is not Cause.ABSENT:
        return ""
    minors = (gpu.minor for gpu in gpus if not gpu.is_passed_through)
    wanted = [CONTROL_FILE, *(f"/dev/nvidia{minor}" for minor in minors if isinstance(minor, int)), *((UVM_FILE,) if uvm else ())]
    return next((path for path in wanted if path not in _nodes_by_path(section)), "")
