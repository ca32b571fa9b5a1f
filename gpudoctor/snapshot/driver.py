"""What the NVIDIA user-space driver said: NVML and libcuda, each asked in a child process."""

from __future__ import annotations

from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed


class GpuProcess(Observed, frozen=True):
    """A process that holds a context on a GPU."""

    pid: int
    memory: int | Missing = NOT_ASKED
    """Bytes of device memory."""


class RemappedRows(Observed, frozen=True):
    """Rows of device memory that were or will be replaced by spare ones."""

    correctable: int
    uncorrectable: int
    pending: bool
    failed: bool


class NvmlGpu(Observed, frozen=True):
    """One GPU as NVML knows it. Memory is in bytes, temperature in degrees Celsius, power in milliwatts."""

    index: int
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
    ecc_enabled: bool | Missing = NOT_ASKED
    ecc_uncorrected: int | Missing = NOT_ASKED
    """Uncorrected errors since the driver was loaded."""
    remapped_rows: RemappedRows | Missing = NOT_ASKED
    compute_mode: str | Missing = NOT_ASKED
    """default, exclusive-thread, prohibited or exclusive-process."""
    persistence: bool | Missing = NOT_ASKED
    link_generation: int | Missing = NOT_ASKED
    link_generation_max: int | Missing = NOT_ASKED
    link_width: int | Missing = NOT_ASKED
    link_width_max: int | Missing = NOT_ASKED
    clocks_event_reasons: int | Missing = NOT_ASKED
    """nvmlClocksEventReason bits."""
    temperature: int | Missing = NOT_ASKED
    power: int | Missing = NOT_ASKED
    power_limit: int | Missing = NOT_ASKED
    compute_processes: tuple[GpuProcess, ...] | Missing = NOT_ASKED
    graphics_processes: tuple[GpuProcess, ...] | Missing = NOT_ASKED


class Status(Observed, frozen=True):
    """What a driver function returned: its number, its name and its own words."""

    code: int
    name: str
    text: str


class Hang(Observed, frozen=True):
    """A driver call that did not return until its process was killed."""

    call: str
    """The function, with the GPU's index where it was about one."""
    seconds: float
    """Since the last sign of life."""
    uninterruptible: bool
    """The process could not be killed: it sits in the kernel, state D."""


class Nvml(Observed, frozen=True):
    """The NVIDIA Management Library of the driver. The section is absent where the loader found no libnvidia-ml.so.1."""

    init: Status | Missing = NOT_ASKED
    """nvmlInit's answer; code 0 is success."""
    library: str | Missing = NOT_ASKED
    """The file that was loaded, links resolved."""
    driver_version: str | Missing = NOT_ASKED
    nvml_version: str | Missing = NOT_ASKED
    cuda_served: str | Missing = NOT_ASKED
    """The newest CUDA that this driver serves: a ceiling, not an installed toolkit."""
    gpus: tuple[NvmlGpu, ...] | Missing = NOT_ASKED
    hang: Hang | Missing = NOT_ASKED
    """The call that did not return; absent: every call did."""


class CudaDevice(Observed, frozen=True):
    """One device that a CUDA program would see, by CUDA ordinal."""

    ordinal: int
    name: str | Missing = NOT_ASKED
    uuid: str | Missing = NOT_ASKED
    address: str | Missing = NOT_ASKED
    compute_capability: str | Missing = NOT_ASKED
    memory_total: int | Missing = NOT_ASKED


class Libcuda(Observed, frozen=True):
    """The CUDA driver library as the target interpreter's processes load it. Absent where the loader found no libcuda.so.1."""

    init: Status | Missing = NOT_ASKED
    """cuInit's answer; code 0 is success."""
    library: str | Missing = NOT_ASKED
    """The file that was loaded, links resolved."""
    cuda_served: str | Missing = NOT_ASKED
    """cuDriverGetVersion: the newest CUDA that this library serves."""
    devices: tuple[CudaDevice, ...] | Missing = NOT_ASKED
    hang: Hang | Missing = NOT_ASKED
    """The call that did not return; absent: every call did."""
