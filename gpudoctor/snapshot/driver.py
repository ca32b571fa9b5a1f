"""The answers of NVIDIA's user-space driver: NVML and libcuda, each queried in a child process.

Annotations are not postponed, here and in the modules of their types: msgspec would compile the text of each of 200, which takes 2 ms.
"""

from gpudoctor.snapshot.gpu_details import ApplicationClocks, Bar1, EccPlace, GpuBoard, Heat, HeldBack, RackPlace, SpareRows
from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed


class Status(Observed, frozen=True):
    """What a driver function returned: its number, name and message."""

    code: int
    name: str
    text: str


class GpuProcess(Observed, frozen=True):
    """A process with a context on a GPU."""

    pid: int
    memory: int | Missing = NOT_ASKED
    """Bytes of device memory."""
    name: str | Missing = NOT_ASKED
    """The program without its folder, for compute processes only; empty for another container's."""

    @property
    def label(self) -> str:
        """The program with its number, "python3 (pid 4711)"; its number alone if the name is not known."""
        return f"{self.name} (pid {self.pid})" if isinstance(self.name, str) else f"pid {self.pid}"


class MigInstance(Observed, frozen=True):
    """A MIG compute instance of a GPU, which CUDA programs see as a device. Memory is in bytes."""

    place: int
    """Index among the GPU's possible instances."""
    uuid: str | Missing = NOT_ASKED
    name: str | Missing = NOT_ASKED
    memory_total: int | Missing = NOT_ASKED
    memory_free: int | Missing = NOT_ASKED
    memory_used: int | Missing = NOT_ASKED
    gpu_instance: int | Missing = NOT_ASKED
    compute_instance: int | Missing = NOT_ASKED
    compute_processes: tuple[GpuProcess, ...] | Missing = NOT_ASKED


class Sram(Observed, frozen=True):
    """Errors of on-chip memory (nvmlDeviceGetSramEccErrorStatus)."""

    uncorrected_total: int
    """Parity and double-bit errors over the GPU's lifetime."""
    threshold_exceeded: bool
    """They exceed NVIDIA's limit."""


class RetiredPages(Observed, frozen=True):
    """Pages of device memory taken out of use, on GPUs before Ampere, which cannot remap rows."""

    single_bit: int
    """For repeated single-bit errors."""
    double_bit: int
    pending: bool
    """Some will be retired when the driver is next loaded."""


class LinkCount(Observed, frozen=True):
    """A counter of an NVLink, or by how much it grew."""

    name: str
    """As in nvml.h: NVML_FI_DEV_NVLINK_COUNT_* in lower case, from NVLink 5 on; otherwise replays, recoveries or crc_errors."""
    count: int


class NvLink(Observed, frozen=True):
    """An NVLink of a GPU with its error counters since the driver was loaded; only active links have any."""

    link: int
    active: bool | Missing = NOT_ASKED
    replays: int | Missing = NOT_ASKED
    recoveries: int | Missing = NOT_ASKED
    crc_errors: int | Missing = NOT_ASKED
    errors: tuple[LinkCount, ...] | Missing = NOT_ASKED
    """From NVLink 5 on: the non-zero ones of fields 206 to 222 of nvml.h; rates as NVML packs them."""
    grown: tuple[LinkCount, ...] | Missing = NOT_ASKED
    """By how much counters grew while the other GPUs were queried; unchanged ones are left out."""
    speed: int | Missing = NOT_ASKED
    """Megabytes a second in each direction, for an active link."""
    remote: str | Missing = NOT_ASKED
    """What is at its other end: gpu, ibm-npu, switch or unknown."""


class Fabric(Observed, frozen=True):
    """A GPU's place in an NVSwitch fabric (nvmlDeviceGetGpuFabricInfo, from branch 525 on)."""

    state: str
    """not-supported, not-started, in-progress or completed."""
    status: int
    """nvmlReturn of the registration; only valid once the state is completed."""
    clique: int
    health: int | Missing = NOT_ASKED
    """NVML_GPU_FABRIC_HEALTH_MASK bits: two for reduced bandwidth (1: yes), and so on."""
    summary: str | Missing = NOT_ASKED
    """not-supported, healthy, unhealthy or limited-capacity."""
    cluster: str | Missing = NOT_ASKED
    """UUID of the NVLink domain, thirty-two hexadecimal digits; all zero if the GPU joined none."""


class Licence(Observed, frozen=True):
    """A vGPU software product that needs a licence (nvmlDeviceGetGridLicensableFeatures)."""

    product: str
    enabled: bool
    licensed: bool
    expires: str | Missing = NOT_ASKED
    """UTC, ISO 8601, to the second. Unsupported: the licence does not expire, or the driver does not say."""
    seconds_left: int | Missing = NOT_ASKED
    """Until expiry, by this machine's clock; negative: expired."""


class RemappedRows(Observed, frozen=True):
    """Rows of device memory that were or will be replaced by spare ones."""

    correctable: int
    uncorrectable: int
    pending: bool
    failed: bool


class Refusals(Observed, frozen=True):
    """How many NVML calls about a GPU were made, and the commonest error other than "not supported"."""

    asked: int
    code: int
    """nvmlReturn; 0 without such an error."""
    times: int


class NvmlGpu(Observed, frozen=True):
    """A GPU as NVML knows it. Memory is in bytes, temperature in degrees Celsius, power in milliwatts, clocks in MHz."""

    index: int
    """NVML's; -1 for a GPU of a pasted text that does not say which it is."""
    address: str | Missing = NOT_ASKED
    """Normalised PCI address. Missing with cause lost: NVML counts this GPU and cannot open it."""
    uuid: str | Missing = NOT_ASKED
    name: str | Missing = NOT_ASKED
    minor: int | Missing = NOT_ASKED
    """N of /dev/nvidiaN."""
    compute_capability: str | Missing = NOT_ASKED
    memory_total: int | Missing = NOT_ASKED
    memory_free: int | Missing = NOT_ASKED
    memory_used: int | Missing = NOT_ASKED
    mig_enabled: bool | Missing = NOT_ASKED
    mig_pending: bool | Missing = NOT_ASKED
    mig_instances: tuple[MigInstance, ...] | Missing = NOT_ASKED
    """None if MIG is off."""
    ecc_enabled: bool | Missing = NOT_ASKED
    ecc_pending: bool | Missing = NOT_ASKED
    """Whether ECC will be on after the next reset."""
    ecc_corrected: int | Missing = NOT_ASKED
    ecc_uncorrected: int | Missing = NOT_ASKED
    """Uncorrected errors since the driver was loaded; the same for `ecc_corrected`."""
    ecc_corrected_total: int | Missing = NOT_ASKED
    ecc_uncorrected_total: int | Missing = NOT_ASKED
    """Uncorrected errors over the GPU's lifetime; the same for `ecc_corrected_total`."""
    sram: Sram | Missing = NOT_ASKED
    retired_pages: RetiredPages | Missing = NOT_ASKED
    remapped_rows: RemappedRows | Missing = NOT_ASKED
    inforom_checksum: int | Missing = NOT_ASKED
    """Of the configuration in the infoROM; a corrupt one returns 14 instead."""
    recovery_action: str | Missing = NOT_ASKED
    """none, reset, reboot, drain-p2p, drain-and-reset, recover-imex-domain, bus-reset or system-reboot (nvmlDeviceGpuRecoveryAction)."""
    alarms: tuple[Status, ...] | Missing = NOT_ASKED
    """Errors from any call that concern the GPU itself: 8 insufficient power, 11 interrupt trouble, 14 corrupt infoROM, 15 lost, 16 reset required."""
    refusals: Refusals | Missing = NOT_ASKED
    compute_mode: str | Missing = NOT_ASKED
    """default, exclusive-thread, prohibited or exclusive-process."""
    persistence: bool | Missing = NOT_ASKED
    virtualization: str | Missing = NOT_ASKED
    """none, passthrough, vgpu, host-vgpu or host-vsga."""
    licences: tuple[Licence, ...] | Missing = NOT_ASKED
    """For a virtual GPU; none for a real one."""
    link_generation: int | Missing = NOT_ASKED
    link_generation_max: int | Missing = NOT_ASKED
    link_width: int | Missing = NOT_ASKED
    link_width_max: int | Missing = NOT_ASKED
    pcie_replays: int | Missing = NOT_ASKED
    """Replayed PCIe transfers since the driver was loaded."""
    pcie_replays_later: int | Missing = NOT_ASKED
    """The same counter some milliseconds later, after all GPUs were queried."""
    clocks_event_reasons: int | Missing = NOT_ASKED
    """nvmlClocksEventReason bits."""
    performance_state: int | Missing = NOT_ASKED
    """0 is the fastest, 15 the slowest."""
    utilization: int | Missing = NOT_ASKED
    """Percent of the last sample period in which a kernel ran."""
    clock_sm: int | Missing = NOT_ASKED
    clock_sm_max: int | Missing = NOT_ASKED
    clock_memory: int | Missing = NOT_ASKED
    clock_memory_max: int | Missing = NOT_ASKED
    temperature: int | Missing = NOT_ASKED
    temperature_slowdown: int | Missing = NOT_ASKED
    """The temperature at which the hardware slows its clocks."""
    temperature_shutdown: int | Missing = NOT_ASKED
    power: int | Missing = NOT_ASKED
    power_limit: int | Missing = NOT_ASKED
    """The enforced limit."""
    power_limit_default: int | Missing = NOT_ASKED
    power_limit_min: int | Missing = NOT_ASKED
    power_limit_max: int | Missing = NOT_ASKED
    nvlinks: tuple[NvLink, ...] | Missing = NOT_ASKED
    """Unsupported: this GPU has none."""
    nvlink_version: str | Missing = NOT_ASKED
    """Of the active links: 4.0 on Hopper, 5.0 on Blackwell."""
    fabric: Fabric | Missing = NOT_ASKED
    compute_processes: tuple[GpuProcess, ...] | Missing = NOT_ASKED
    graphics_processes: tuple[GpuProcess, ...] | Missing = NOT_ASKED
    link_generation_own: int | Missing = NOT_ASKED
    """The maximum of the GPU itself; `link_generation_max` and `link_width_max` are those of GPU and slot together."""
    memory_reserved: int | Missing = NOT_ASKED
    """Reserved by driver and GPU."""
    bar1: Bar1 | Missing = NOT_ASKED
    board: GpuBoard | Missing = NOT_ASKED
    heat: Heat | Missing = NOT_ASKED
    held_back: HeldBack | Missing = NOT_ASKED
    held_back_later: HeldBack | Missing = NOT_ASKED
    """The same counters some milliseconds later, after all GPUs were queried."""
    spare_rows: SpareRows | Missing = NOT_ASKED
    ecc_places: tuple[EccPlace, ...] | Missing = NOT_ASKED
    """The parts that count errors; only queried if ECC is on."""
    application_clocks: ApplicationClocks | Missing = NOT_ASKED
    numa_memory: int | Missing = NOT_ASKED
    """The NUMA node of the GPU's own memory, on machines where CPU and GPU share an address space."""
    rack: RackPlace | Missing = NOT_ASKED


class Hang(Observed, frozen=True):
    """A driver call that did not return until its process was killed."""

    call: str
    """The function, with the GPU's index if it was about one."""
    seconds: float
    """Since the last response."""
    uninterruptible: bool
    """The process could not be killed: it is stuck in the kernel, state D."""


class GpuPair(Observed, frozen=True):
    """Two GPUs by NVML index and how they are connected."""

    one: int
    other: int
    ancestor: str | Missing = NOT_ASKED
    """The farthest point that a PCIe transfer passes: internal, single-switch, multiple-switches, host-bridge, numa-node or system."""
    p2p: str | Missing = NOT_ASKED
    """Whether one may read the other's memory: ok, or why not (nvmlGpuP2PStatus)."""


class Nvml(Observed, frozen=True):
    """The driver's NVIDIA Management Library. The section is absent if the loader found no libnvidia-ml.so.1."""

    init: Status | Missing = NOT_ASKED
    """nvmlInit's result; code 0 is success."""
    library: str | Missing = NOT_ASKED
    """The loaded file, links resolved."""
    driver_version: str | Missing = NOT_ASKED
    nvml_version: str | Missing = NOT_ASKED
    cuda_served: str | Missing = NOT_ASKED
    """The newest CUDA that this driver supports: a ceiling, not an installed toolkit."""
    gpus: tuple[NvmlGpu, ...] | Missing = NOT_ASKED
    pairs: tuple[GpuPair, ...] | Missing = NOT_ASKED
    """Every two GPUs that could be opened."""
    confidential: bool | Missing = NOT_ASKED
    """Confidential computing is on."""
    confidential_ready: bool | Missing = NOT_ASKED
    """Its GPUs accept work; meaningless without confidential computing."""
    alarms: tuple[Status, ...] | Missing = NOT_ASKED
    """The same for calls about no particular GPU."""
    hang: Hang | Missing = NOT_ASKED
    """The call that hung; absent: every call returned."""


class CudaDevice(Observed, frozen=True):
    """A device visible to CUDA programs, by CUDA ordinal."""

    ordinal: int
    name: str | Missing = NOT_ASKED
    uuid: str | Missing = NOT_ASKED
    address: str | Missing = NOT_ASKED
    compute_capability: str | Missing = NOT_ASKED
    memory_total: int | Missing = NOT_ASKED
    integrated: bool | Missing = NOT_ASKED
    """It shares the host's memory (CU_DEVICE_ATTRIBUTE_INTEGRATED)."""


class Libcuda(Observed, frozen=True):
    """The CUDA driver library as the target interpreter loads it. Absent if the loader found no libcuda.so.1."""

    init: Status | Missing = NOT_ASKED
    """cuInit's result; code 0 is success."""
    library: str | Missing = NOT_ASKED
    """The loaded file, links resolved."""
    cuda_served: str | Missing = NOT_ASKED
    """cuDriverGetVersion: the newest CUDA that this library supports."""
    devices: tuple[CudaDevice, ...] | Missing = NOT_ASKED
    hang: Hang | Missing = NOT_ASKED
    """The call that hung; absent: every call returned."""
