"""Each GPU assembled from the PCI bus, kernel driver, NVML and CUDA, by PCI address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from gpudoctor.derive.site import Site
from gpudoctor.findings import Subject, SubjectKind
from gpudoctor.snapshot import (
    Cause,
    CudaDevice,
    DeviceNodes,
    KernelDriver,
    Libcuda,
    Loads,
    Missing,
    Node,
    Nvml,
    NvmlGpu,
    Pci,
    PciDevice,
    ProcGpu,
    Snapshot,
    Status,
)

_INTEGRATED_CAPABILITIES = ("5.3", "6.2", "7.2", "8.7", "10.1", "11.0", "12.1")
"""The compute capabilities of Jetson's and DRIVE's GPUs and of GB10, which no card has."""
_NOT_LISTED = Missing(Cause.ABSENT, "not listed")
_NOT_ON_PCI, _NOT_IN_NVML, _NOT_IN_CUDA = (
    Missing(Cause.ABSENT, f"{layer} does not list the GPU") for layer in ("the PCI bus", "NVML", "CUDA")
)
_NO_NODE = Missing(Cause.ABSENT, "the GPU has no device file")
_Listed = TypeVar("_Listed", NvmlGpu, CudaDevice)


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU as each layer knows it; absent: that layer was queried and does not list it."""

    key: str
    pci: PciDevice | Missing
    proc: ProcGpu | Missing
    node: Node | Missing
    nvml: NvmlGpu | Missing
    cuda: CudaDevice | Missing
    """As a program in the examined environment sees it."""
    cuda_unmasked: CudaDevice | Missing
    """The same without CUDA_VISIBLE_DEVICES."""
    alarms_under_load: tuple[Status, ...] = ()
    """NVML's errors about the GPU itself during training."""

    @property
    def subject(self) -> Subject:
        """What a finding about it is about."""
        return Subject(SubjectKind.GPU, self.key)

    @property
    def name(self) -> str | Missing:
        """The product's name from the first layer that knows it."""
        for layer in (self.nvml, self.cuda_unmasked, self.cuda):
            if not isinstance(layer, Missing) and isinstance(layer.name, str):
                return layer.name
        if isinstance(self.proc, ProcGpu):
            return self.proc.model
        return self.pci.name if isinstance(self.pci, PciDevice) and isinstance(self.pci.name, str) else _NOT_LISTED

    @property
    def label(self) -> str:
        """Its name for people: "GPU 3 (0000:1f:00.0)", or with the product's name if it has no address."""
        index = str(self.nvml.index) if isinstance(self.nvml, NvmlGpu) and self.nvml.index >= 0 else ""
        if self.key.startswith("nvml:"):
            return " ".join(("GPU", *filter(None, (index, self.name if isinstance(self.name, str) else ""))))
        return f"GPU {index} ({self.key})" if index else f"GPU {self.key}"

    @property
    def selector(self) -> str:
        """What nvidia-smi takes for it after -i: its address, or its index; a word to replace where a text states neither."""
        if not self.key.startswith("nvml:"):
            return self.key
        return str(self.nvml.index) if isinstance(self.nvml, NvmlGpu) and self.nvml.index >= 0 else "INDEX"

    @property
    def assumed(self) -> bool:
        """Whether nothing is known of it: pasted text is about a GPU even if it names none."""
        said = self.nvml if isinstance(self.nvml, NvmlGpu) else None
        unnamed = said is not None and all(_is_not_stated(fact) for fact in (said.address, said.name, said.compute_capability))
        return unnamed and not isinstance(self.pci, PciDevice)

    @property
    def minor(self) -> int | Missing:
        """N of its /dev/nvidiaN."""
        for layer in (self.nvml, self.proc):
            if not isinstance(layer, Missing) and isinstance(layer.minor, int):
                return layer.minor
        return _NOT_LISTED

    @property
    def integrated(self) -> bool:
        """Whether it shares the host's memory and has no real PCIe link (Jetson, GB10), by CUDA or its generation."""
        layers = [layer for layer in (self.cuda, self.cuda_unmasked) if isinstance(layer, CudaDevice)]
        told = next((layer.integrated for layer in layers if isinstance(layer.integrated, bool)), None)
        known = [layer.compute_capability for layer in (*layers, self.nvml) if not isinstance(layer, Missing)]
        return any(one in _INTEGRATED_CAPABILITIES for one in known) if told is None else told

    @property
    def is_passed_through(self) -> bool:
        """Bound to vfio-pci, for a virtual machine."""
        return isinstance(self.pci, PciDevice) and self.pci.driver == "vfio-pci"


def _by_address(items: Iterable[_Listed]) -> dict[str, _Listed]:
    """The first of each address: MIG instances share their GPU's."""
    found: dict[str, _Listed] = {}
    for item in items:
        if isinstance(item.address, str):
            found.setdefault(item.address, item)
    return found


def _devices_by_address(section: Libcuda | Missing) -> tuple[dict[str, CudaDevice], Missing]:
    """The CUDA devices by address, and what is known of a GPU that is not among them."""
    if isinstance(section, Missing):
        return {}, section
    if isinstance(section.devices, Missing):
        return {}, section.devices
    return _by_address(section.devices), _NOT_IN_CUDA


class _GpuLayers:
    """The layers of one snapshot by PCI address."""

    def __init__(self, snapshot: Snapshot, site: Site) -> None:
        self.pci = {}
        self.no_pci = snapshot.pci if isinstance(snapshot.pci, Missing) else _NOT_ON_PCI
        if isinstance(snapshot.pci, Pci):
            self.pci = {device.address: device for device in snapshot.pci.devices if device.is_nvidia_gpu}
        self.proc: dict[str, ProcGpu] = {}
        if isinstance(snapshot.kernel_driver, KernelDriver) and not isinstance(snapshot.kernel_driver.gpus, Missing):
            self.proc = {gpu.address: gpu for gpu in snapshot.kernel_driver.gpus}
        nodes = snapshot.device_nodes.nodes if isinstance(snapshot.device_nodes, DeviceNodes) else ()
        self.nodes = {node.path: node for node in nodes}
        self.no_node = snapshot.device_nodes if isinstance(snapshot.device_nodes, Missing) else _NO_NODE
        gpus = snapshot.nvml.gpus if isinstance(snapshot.nvml, Nvml) else snapshot.nvml
        self.no_nvml = gpus if isinstance(gpus, Missing) else _NOT_IN_NVML
        listed = () if isinstance(gpus, Missing) else gpus
        self.nvml = _by_address(listed)
        loads = snapshot.loads.gpus if isinstance(snapshot.loads, Loads) else ()
        self.under_load = {load.address: load.alarms for load in loads if load.alarms}
        self.cuda, self.no_cuda = _devices_by_address(snapshot.libcuda)
        self.unmasked, self.no_unmasked = (
            (self.cuda, self.no_cuda) if _is_not_asked(snapshot.libcuda_unmasked) else _devices_by_address(snapshot.libcuda_unmasked)
        )
        if site.container:
            self._drop_host_gpus()
        elif _is_whole_share(snapshot, listed):
            self._keep_only(set())  # the control group limits NVML to the assigned GPUs, and the rest belong to other jobs
        self._place_lost_gpus([gpu for gpu in listed if not isinstance(gpu.address, str)])

    def _drop_host_gpus(self) -> None:
        """In a container /sys shows all of the host's GPUs; keep those with a device node, or that NVML or CUDA can open."""
        given = {address for address, gpu in self.proc.items() if f"/dev/nvidia{gpu.minor}" in self.nodes}
        self._keep_only(given)

    def _keep_only(self, given: set[str]) -> None:
        """Keep the GPUs that NVML or CUDA can open, and those at the given addresses."""
        ours = {*given, *self.nvml, *self.cuda, *self.unmasked}
        self.pci = {address: device for address, device in self.pci.items() if address in ours}
        self.proc = {address: gpu for address, gpu in self.proc.items() if address in ours}

    def _place_lost_gpus(self, lost: list[NvmlGpu]) -> None:
        """NVML counts GPUs that it cannot open, without an address. It numbers by address, so they take the unclaimed ones in order."""
        bound = [address for address, device in self.pci.items() if device.driver == "nvidia"]
        unclaimed = sorted({*bound, *self.proc, *self.cuda, *self.unmasked} - set(self.nvml))
        for number, gpu in enumerate(lost):
            key = unclaimed[number] if len(lost) == len(unclaimed) else f"nvml:{gpu.index}"
            self.nvml[key] = gpu

    def gpu(self, key: str) -> Gpu:
        proc = self.proc.get(key, _NOT_LISTED)
        nvml = self.nvml.get(key, self.no_nvml)
        bare = Gpu(
            key=key,
            pci=self.pci.get(key, self.no_pci),
            proc=proc,
            node=self.no_node,
            nvml=nvml,
            cuda=self.cuda.get(key, self.no_cuda),
            cuda_unmasked=self.unmasked.get(key, self.no_unmasked),
            alarms_under_load=self.under_load.get(key, ()),
        )
        return msgspec.structs.replace(bare, node=self.nodes.get(f"/dev/nvidia{bare.minor}", self.no_node))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self.pci, *self.proc, *self.nvml, *self.cuda, *self.unmasked}))


def _is_not_stated(value: object) -> bool:
    return isinstance(value, Missing) and value.cause is Cause.NOT_STATED


def _is_not_asked(value: object) -> bool:
    return isinstance(value, Missing) and value.cause is Cause.NOT_ASKED


def _is_whole_share(snapshot: Snapshot, listed: tuple[NvmlGpu, ...]) -> bool:
    """Whether NVML lists and opens exactly the GPUs that the scheduler assigned to this job, in its own control group."""
    share = snapshot.allocation
    if isinstance(share, Missing) or share.constrained is not True or not isinstance(share.gpus, tuple):
        return False
    opened = isinstance(snapshot.nvml, Nvml) and isinstance(snapshot.nvml.gpus, tuple)
    return opened and len(listed) == len(share.gpus) and all(isinstance(gpu.address, str) for gpu in listed)


def gpus_of_snapshot(snapshot: Snapshot, site: Site) -> tuple[Gpu, ...]:
    """Every GPU that any layer shows and that is this machine's (or this container's), by address."""
    join = _GpuLayers(snapshot, site)
    return tuple(join.gpu(key) for key in join)


def is_divided_by_mig(hardware: tuple[Gpu, ...]) -> bool:
    """Whether CUDA shows a MIG instance: a process then sees that one and no other GPU."""
    shown = (gpu.nvml for gpu in hardware if isinstance(gpu.cuda_unmasked, CudaDevice))
    return any(isinstance(nvml, NvmlGpu) and nvml.mig_enabled is True for nvml in shown)
