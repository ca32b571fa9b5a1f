"""The result of our own small kernel on a CUDA device, and the files of the CUDA driver on disk."""

from gpudoctor.snapshot.driver import Hang, Status
from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed


class CudaCall(Observed, frozen=True):
    """A call into libcuda and its answer."""

    call: str
    """The function as the documentation names it: cuDevicePrimaryCtxRetain."""
    status: Status
    milliseconds: int


class CudaContext(Observed, frozen=True):
    """One CUDA device on which a context was created and a kernel run, in a process of its own. Memory is in bytes."""

    ordinal: int
    address: str | Missing = NOT_ASKED
    """Normalised PCI address from libcuda's earlier answer."""
    skipped: str = ""
    """Why the device was skipped; empty if it was not."""
    kernel_right: bool | Missing = NOT_ASKED
    """Whether the kernel computed the right result; missing if it did not get that far, with the reason."""
    calls: tuple[CudaCall, ...] = ()
    """In order; the first failure is the last call, apart from those that clean up."""
    elements: int | Missing = NOT_ASKED
    wrong: int | Missing = NOT_ASKED
    """How many elements are wrong."""
    first_wrong: str | Missing = NOT_ASKED
    memory_total: int | Missing = NOT_ASKED
    memory_free: int | Missing = NOT_ASKED
    """cuMemGetInfo within the context."""
    memory_allocated: int | Missing = NOT_ASKED
    memory_free_meanwhile: int | Missing = NOT_ASKED
    memory_free_after: int | Missing = NOT_ASKED
    compute_capability: str | Missing = NOT_ASKED
    multiprocessors: int | Missing = NOT_ASKED
    memory_clock: int | Missing = NOT_ASKED
    """Peak, in kHz."""
    memory_bus_width: int | Missing = NOT_ASKED
    """Bits."""
    compute_mode: str | Missing = NOT_ASKED
    """default, exclusive-thread, prohibited or exclusive-process."""
    ecc_enabled: bool | Missing = NOT_ASKED
    unified_addressing: bool | Missing = NOT_ASKED
    integrated: bool | Missing = NOT_ASKED
    """It shares the host's memory, as on Jetson."""
    pci_address: str | Missing = NOT_ASKED
    """As reported by the device's attributes."""
    hang: Hang | Missing = NOT_ASKED
    """The call that hung; absent: every call returned."""


class CudaFile(Observed, frozen=True):
    """One file with a name by which the CUDA driver's library or its PTX compiler is loaded."""

    path: str
    real: str | Missing = NOT_ASKED
    """Links resolved."""
    bits: int | Missing = NOT_ASKED
    """32 or 64, from its ELF header."""
    machine: str | Missing = NOT_ASKED
    """Its architecture, as in `uname -m`; absent: not an ELF file."""


class CudaFiles(Observed, frozen=True):
    """libcuda.so.1 and libnvidia-ptxjitcompiler.so.1 in the usual folders of drivers and toolkits and in the loader's."""

    libcuda: tuple[CudaFile, ...]
    ptx_compiler: tuple[CudaFile, ...]
    loader_folders: tuple[str, ...] = ()
    """LD_LIBRARY_PATH and /etc/ld.so.conf, in that order; the loader's default folders follow."""
