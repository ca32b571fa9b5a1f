"""What a row of each table says: frozen structs, None where the table's cell is blank, which means unknown."""

from __future__ import annotations

import msgspec

from gpudoctor.versions import Version


class Source(msgspec.Struct, frozen=True):
    """Where facts were read. `read` is the ISO date of reading; `url` is blank where the source is a file that its title names."""

    id: str
    title: str
    url: str
    read: str


class CudaRelease(msgspec.Struct, frozen=True):
    """A CUDA toolkit release (12.4 is the first of its minor, 12.4.1 its first update) and the oldest drivers for it.

    `driver_*` serve all of this release; `minor_driver_*` run what was built with it under minor-version compatibility, which
    CUDA has since 11.0. Windows floors are unknown where NVIDIA states none.
    """

    release: Version
    driver_linux: Version | None
    driver_windows: Version | None
    minor_driver_linux: Version | None
    minor_driver_windows: Version | None
    source: tuple[str, ...]
    note: str


class DriverBranch(msgspec.Struct, frozen=True):
    """A branch of the NVIDIA driver (550 holds 550.54.14 and, on Windows, 551.x and 552.x) and the CUDA it serves.

    `oldest_capability` and `newest_capability` bound the compute capabilities of the GPUs that the branch drives.
    """

    branch: int
    cuda_served: Version | None
    oldest_capability: Version | None
    newest_capability: Version | None
    source: tuple[str, ...]
    note: str


class FrameworkRelease(msgspec.Struct, frozen=True):
    """What one published release of a framework's distribution says of itself, for one platform ("linux_x86_64").

    `pythons` are the interpreters that have a wheel ("3.11"). `accelerator` is "cuda" or "cpu", by what the binary was built for.
    `cudnn` is what it was built with. `sass` are architectures with machine code ("sm_80", "sm_90a") and `ptx` those with
    portable code that the driver compiles ("compute_90"): None is unknown, () is none. `requires` are the pinned NVIDIA
    packages, from the extra `and-cuda` for TensorFlow. `builds` are the local versions of all official builds ("cpu", "cu118"), ()
    where they are not known.
    """

    distribution: str
    release: Version
    platform: str
    pythons: tuple[str, ...]
    accelerator: str
    built_with_cuda: Version | None
    cudnn: Version | None
    sass: tuple[str, ...] | None
    ptx: tuple[str, ...] | None
    requires: tuple[str, ...]
    builds: tuple[str, ...]
    source: tuple[str, ...]
    note: str


class GpuProduct(msgspec.Struct, frozen=True):
    """A GPU as NVML names it, how people type it, and what it is. `memory_gib` is the nominal size in GiB."""

    name: str
    aliases: tuple[str, ...]
    compute_capability: Version
    architecture: str
    memory_gib: float | None
    source: tuple[str, ...]
    note: str


class Chip(msgspec.Struct, frozen=True):
    """The GPUs whose PCI device id lies between `first` and `last`, both included.

    `compute_capability` is the chip's own, or the lowest of its generation where the note says so.
    """

    first: int
    last: int
    architecture: str
    compute_capability: Version
    source: tuple[str, ...]
    note: str


class Xid(msgspec.Struct, frozen=True):
    """An error that the driver logs under this number. `action` is NVIDIA's word for what to do at once ("RESET_GPU"), "" where it has none."""

    code: int
    mnemonic: str
    meaning: str
    action: str
    source: tuple[str, ...]
    note: str


class DriverFloor(msgspec.Struct, frozen=True):
    """The oldest drivers for programs built with `cuda` on `os` ("linux" or "windows").

    `exact` serves all of that CUDA. `minor_version_floor` is enough for programs that bring their own libraries and do without
    what newer drivers added; it is None before CUDA 11, which had no minor-version compatibility, and where nothing is known.
    PTX of that CUDA needs `exact`, as the driver compiles it.
    """

    cuda: Version
    os: str
    exact: Version | None
    minor_version_floor: Version | None
    source: tuple[str, ...]
