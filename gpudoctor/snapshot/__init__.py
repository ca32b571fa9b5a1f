"""What was observed, without conclusions: frozen, typed, versioned, identical on a live machine and in a file."""

from __future__ import annotations

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.snapshot.contexts import CudaCall, CudaContext, CudaFile, CudaFiles
from gpudoctor.snapshot.details import Board, Cpu, Details, Memory, Preload, SystemPackage, SystemPackages
from gpudoctor.snapshot.driver import (
    CudaDevice,
    Fabric,
    GpuPair,
    GpuProcess,
    Hang,
    Libcuda,
    Licence,
    LinkCount,
    MigInstance,
    NvLink,
    Nvml,
    NvmlGpu,
    Refusals,
    RemappedRows,
    RetiredPages,
    Sram,
    Status,
)
from gpudoctor.snapshot.environment import (
    AllowedPythons,
    Distribution,
    Framework,
    Hollow,
    OverwrittenPackage,
    Packages,
    Python,
    ScriptFolder,
    Unread,
    Variant,
)
from gpudoctor.snapshot.gpu_details import ApplicationClocks, Bar1, EccPlace, GpuBoard, Heat, HeldBack, RackPlace, SpareRows
from gpudoctor.snapshot.kernel import Amd, Blocked, DkmsModule, FabricManager, FabricParts, KernelModules, ModuleFile, StuckProcess
from gpudoctor.snapshot.libraries import (
    Asking,
    Compiler,
    Damage,
    DamageKind,
    Extension,
    FoundBy,
    FrameworkLibraries,
    GpuCode,
    Libraries,
    LibraryFile,
    LibraryUse,
    Place,
    RefusedVariable,
    Toolkit,
    UnfitKind,
    UnfitModule,
    UnresolvedSymbol,
)
from gpudoctor.snapshot.machine import (
    DeviceNodes,
    Host,
    KernelDriver,
    KernelLog,
    LikeCause,
    Likeness,
    Major,
    Node,
    Pci,
    PciBar,
    PciDevice,
    Platform,
    ProcGpu,
    Reading,
    Reported,
    TextLog,
    Variables,
    XidEvent,
)
from gpudoctor.snapshot.smoke import (
    LAST_OUTPUT,
    Agreement,
    AllReduce,
    CompiledStep,
    Copy,
    Kernel,
    LeftAlone,
    MemoryKills,
    MemoryRate,
    Product,
    Smoke,
    SmokeDevice,
    Speed,
    Stage,
    StageKind,
    StageState,
    Sum,
    Training,
)
from gpudoctor.snapshot.surroundings import (
    SCHEDULERS,
    Allocation,
    CdiSpec,
    Container,
    ContainerTools,
    DriverFile,
    Limits,
    LoaderCache,
    Mps,
    SharedMemory,
    Wsl,
)
from gpudoctor.snapshot.telemetry import GpuLoad, Held, Loads, Span, StageLoad
from gpudoctor.snapshot.upgrades import upgraded_snapshot
from gpudoctor.snapshot.values import (
    NOT_ASKED,
    Cause,
    Fact,
    Missing,
    Observed,
    OpenEnum,
    Parameter,
    Real,
    Supposed,
    is_absent,
    is_unasked,
    normalise_address,
    printable_text,
)
from gpudoctor.typed_values import convert_value, from_json, require_bounded

SUPPOSED = "supposed"
"""The origin of a snapshot of a combination that somebody asked about."""
TEXT = "text"
"""The origin of a snapshot that was read from pasted text."""
VERSION = "1.3"
"""major.minor of the snapshot's format; a new major version is unreadable for this program, a new minor one only adds to it."""
_STRUCTURED = (1, 3)
"""Since this version nothing has to be parsed out of a sentence."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Everything observed about one machine and one Python environment at one time."""

    version: str = VERSION
    created: str
    """UTC, ISO 8601, to the second."""
    origin: str = "live"
    """live, text or supposed."""
    host: Host | Missing = NOT_ASKED
    details: Details | Missing = NOT_ASKED
    system_packages: SystemPackages | Missing = NOT_ASKED
    preloads: tuple[Preload, ...] | Missing = NOT_ASKED
    """Empty: nothing is preloaded."""
    container: Container | Missing = NOT_ASKED
    container_tools: ContainerTools | Missing = NOT_ASKED
    loader_cache: LoaderCache | Missing = NOT_ASKED
    limits: Limits | Missing = NOT_ASKED
    allocation: Allocation | Missing = NOT_ASKED
    mps: Mps | Missing = NOT_ASKED
    wsl: Wsl | Missing = NOT_ASKED
    variables: Variables | Missing = NOT_ASKED
    pci: Pci | Missing = NOT_ASKED
    kernel_driver: KernelDriver | Missing = NOT_ASKED
    kernel_modules: KernelModules | Missing = NOT_ASKED
    kernel_log: KernelLog | Missing = NOT_ASKED
    device_nodes: DeviceNodes | Missing = NOT_ASKED
    fabric_manager: FabricManager | Missing = NOT_ASKED
    fabric_parts: FabricParts | Missing = NOT_ASKED
    stuck: tuple[StuckProcess, ...] | Missing = NOT_ASKED
    """Only looked for after a driver call hung."""
    amd: tuple[Amd, ...] | Missing = NOT_ASKED
    """Absent: the ROCm kernel driver (amdkfd) is not loaded."""
    nvml: Nvml | Missing = NOT_ASKED
    libcuda: Libcuda | Missing = NOT_ASKED
    libcuda_unmasked: Libcuda | Missing = NOT_ASKED
    """The same library queried again without CUDA_VISIBLE_DEVICES, if that was set."""
    cuda_files: CudaFiles | Missing = NOT_ASKED
    contexts: tuple[CudaContext, ...] | Missing = NOT_ASKED
    """Our own kernel on each device that CUDA shows; from level touch on."""
    python: Python | Missing = NOT_ASKED
    packages: Packages | Missing = NOT_ASKED
    frameworks: tuple[Framework, ...] | Missing = NOT_ASKED
    libraries: Libraries | Missing = NOT_ASKED
    toolkits: tuple[Toolkit, ...] | Missing = NOT_ASKED
    """Empty: there is none."""
    compilers: tuple[Compiler, ...] | Missing = NOT_ASKED
    """The host compilers that nvcc or Triton would call."""
    system_cudnn: Fact | Missing = NOT_ASKED
    """The cuDNN on the loader's path outside the environment."""
    smoke: tuple[Smoke, ...] | Missing = NOT_ASKED
    loads: Loads | Missing = NOT_ASKED
    """NVML's readings of the GPUs during training."""
    supposed: tuple[Supposed, ...] | Missing = NOT_ASKED
    """For assumed machines only."""
    script_folder: ScriptFolder | Missing = NOT_ASKED
    text_log: TextLog | Missing = NOT_ASKED
    """Of a pasted text only."""
    remarks: tuple[str, ...] = ()
    """Notes of the reader or the probes on the observation itself, such as a newer minor version."""

    @property
    def listed_gpus(self) -> tuple[NvmlGpu, ...]:
        """The GPUs that NVML lists; none if it did not say."""
        return self.nvml.gpus if isinstance(self.nvml, Nvml) and isinstance(self.nvml.gpus, tuple) else ()


class _Versioned(msgspec.Struct):
    version: str


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """`snapshot` as JSON."""
    return msgspec.json.encode(snapshot)


def decode_snapshot(data: bytes) -> Snapshot:
    """The snapshot in `data`.

    Raises UsageError if `data` is not a snapshot or has a newer major version. A newer minor version is read, with a note in the
    snapshot's remarks.
    """
    try:
        written = from_json(data, _Versioned).version
        major, minor = (int(part) for part in written.split(".", 1))
    except (msgspec.MsgspecError, ValueError, UnicodeDecodeError) as error:
        raise UsageError(f"Not a gpudoctor snapshot ({error}); pass a file written by `gpudoctor check --format json`.") from None
    ours = tuple(int(part) for part in VERSION.split("."))
    if major > ours[0]:
        raise UsageError(f"The snapshot has version {written} and this gpudoctor reads up to {ours[0]}.x; use a newer gpudoctor.")
    try:
        older = (major, minor) < _STRUCTURED
        snapshot = require_bounded(
            convert_value(upgraded_snapshot(msgspec.json.decode(data)), Snapshot) if older else from_json(data, Snapshot)
        )
    except (msgspec.MsgspecError, ValueError, OverflowError) as error:
        raise UsageError(f"The snapshot is damaged: {error}.") from None
    if (major, minor) <= ours:
        return snapshot
    remark = f"written as version {written}, read as {VERSION}: additions of the newer version are ignored"
    return msgspec.structs.replace(snapshot, remarks=(*snapshot.remarks, remark))
