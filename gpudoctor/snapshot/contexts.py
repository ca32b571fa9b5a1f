"""What a small kernel of our own showed on a CUDA device, and the files of the CUDA driver on disk."""

from __future__ import annotations

from gpudoctor.snapshot.driver import Hang, Status
from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed


class CudaCall(Observed, frozen=True):
    """One call into libcuda and its answer."""

    call: str
    """The function as the documentation names it: cuDevicePrimaryCtxRetain."""
    status: Status
    milliseconds: int


class CudaContext(Observed, frozen=True):
    """One CUDA device on which a context was made and a kernel run, or tried, in a process of its own. Memory is in bytes."""

    ordinal: int
    address: str | Missing = NOT_ASKED
    """Normalised PCI address, as libcuda gave it before."""
    skipped: str = ""
    """Why the device was left alone; empty where it was not."""
    kernel_right: bool | Missing = NOT_ASKED
    """Whether the kernel computed what it should; missing: it did not come to that, and why."""
    calls: tuple[CudaCall, ...] = ()
    """In their order; the first that fails is the last but for those after the kernel's end."""
    elements: int | Missing = NOT_ASKED
    wrong: int | Missing = NOT_ASKED
    """How many of the elements are wrong."""
    first_wrong: str | Missing = NOT_ASKED
    memory_total: int | Missing = NOT_ASKED
    memory_free: int | Missing = NOT_ASKED
    """cuMemGetInfo, the context being there already."""
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
    """As the device's attributes give it."""
    hang: Hang | Missing = NOT_ASKED
    """The call that did not return; absent: every call did."""


class CudaFile(Observed, frozen=True):
    """One file under a name by which the CUDA driver's library, or its PTX compiler, is loaded."""

    path: str
    real: str | Missing = NOT_ASKED
    """Links resolved."""
    bits: int | Missing = NOT_ASKED
    """32 or 64, from its ELF header."""
    machine: str | Missing = NOT_ASKED
    """The architecture it is for, as `uname -m` would say; absent: it is no ELF file."""


class CudaFiles(Observed, frozen=True):
    """libcuda.so.1 and libnvidia-ptxjitcompiler.so.1 in the folders where drivers and toolkits put them and in those that the loader is told of."""

    libcuda: tuple[CudaFile, ...]
    ptx_compiler: tuple[CudaFile, ...]
    loader_folders: tuple[str, ...] = ()
    """LD_LIBRARY_PATH and /etc/ld.so.conf, in that order; the loader's own default folders come after them."""
