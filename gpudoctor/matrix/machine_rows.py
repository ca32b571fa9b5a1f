"""The rows about GPUs, drivers and systems as frozen structs; None is a blank cell, which means unknown."""

from __future__ import annotations

import msgspec

from gpudoctor.matrix.cells import (
    BranchKind,
    Decimal,
    Flavour,
    GpuKind,
    Month,
    Number,
    Origin,
    PciId,
    Required,
    Sources,
    Text,
    Versions,
    Words,
)
from gpudoctor.versions import Version


class DriverBranch(msgspec.Struct, frozen=True):
    """A branch of the NVIDIA driver (550 includes 550.54.14 and, on Windows, 551.x and 552.x), its CUDA version and its GPUs.

    `kind` is NVIDIA's term: "production", "long-term" or "new-feature". `oldest_capability` and `newest_capability` bound the compute
    capabilities of its GPUs. `modules` are the flavours of its kernel modules, "proprietary" and "open"; the open flavour supports GPUs
    from `open_from` on, and is the only one from `open_only_from` on. NVIDIA maintains the branch through the month `end_of_life`
    ("2026-06"). `compat_packages` are the cuda-compat packages that it supports ("12.8"); GpuProduct.forward_compatible says on which GPUs.
    """

    branch: Number
    cuda_served: Version | None
    oldest_capability: Version | None
    newest_capability: Version | None
    kind: BranchKind | None
    modules: Words
    open_from: Version | None
    open_only_from: Version | None
    end_of_life: Month | None
    compat_packages: Versions | None
    source: Sources
    note: Text


class DriverPackage(msgspec.Struct, frozen=True):
    """A package that installs the NVIDIA driver on one release of a distribution ("debian-12", by ID and VERSION_ID of os-release).

    `version` is the driver's, None if the package follows the newest. `modules` is the flavour of its kernel modules, "proprietary" or
    "open", and `newest_kernel` the newest kernel on which the distribution built them. `origin` is "distribution" for its own archive,
    "nvidia" for NVIDIA's package repository.
    """

    system: Required
    package: Required
    version: Version | None
    modules: Flavour
    newest_kernel: Version | None
    origin: Origin
    source: Sources
    note: Text


class GpuProduct(msgspec.Struct, frozen=True):
    """A GPU: NVML's name for it, the names people type, and its properties; on a board with several GPUs, one of them.

    `kind` is "data-center", "workstation", "geforce", "laptop" or "jetson". `memory_gib` is the nominal size in GiB, `bandwidth_gbs`
    its memory bandwidth in GB/s. The peaks are in TFLOPS, dense and accumulated in FP32: `fp32_tflops` is the plain rate, `tf32_tflops`,
    `bf16_tflops` and `fp16_tflops` are those of the tensor cores, or the plain rate without them.
    """

    name: Required
    aliases: Words
    kind: GpuKind
    compute_capability: Version
    architecture: Required
    memory_gib: Decimal | None
    bandwidth_gbs: Decimal | None
    fp32_tflops: Decimal | None
    tf32_tflops: Decimal | None
    bf16_tflops: Decimal | None
    fp16_tflops: Decimal | None
    source: Sources
    note: Text

    @property
    def forward_compatible(self) -> bool | None:
        """Whether NVIDIA supports cuda-compat packages on it; None for workstation GPUs, which are supported in some servers only.

        https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
        """
        return None if self.kind == "workstation" else self.kind in {"data-center", "jetson"}


class Chip(msgspec.Struct, frozen=True):
    """The GPUs whose PCI device id is between `first` and `last`, inclusive.

    `compute_capability` is the chip's own, or the lowest of its generation if the note says so.
    """

    first: PciId
    last: PciId
    architecture: Required
    compute_capability: Version
    source: Sources
    note: Text


class Xid(msgspec.Struct, frozen=True):
    """An error that the driver logs under this number. `action` is NVIDIA's immediate action ("RESET_GPU"), or ""."""

    code: Number
    mnemonic: Required
    meaning: Required
    action: Text
    source: Sources
    note: Text


class Sxid(msgspec.Struct, frozen=True):
    """An NVSwitch error that the driver logs under this number. `severity` is non-fatal, fatal, always-fatal or notable."""

    code: Number
    meaning: Required
    severity: Required
    source: Sources
    note: Text


class System(msgspec.Struct, frozen=True):
    """A Linux distribution ("ubuntu-22.04", by ID and VERSION_ID of os-release) and its C library: "glibc 2.35", "musl".

    `names` are what container images call it: "ubuntu22.04", "jammy".
    """

    system: Required
    names: Words
    libc: Required
    source: Sources
    note: Text


class DriverFloor(msgspec.Struct, frozen=True):
    """The oldest drivers for programs built with `cuda` on `os` ("linux" or "windows").

    `exact` supports all of that CUDA. `minor_version_floor` is enough for programs that ship their own libraries and use nothing that newer
    drivers added; it is None before CUDA 11, which had no minor-version compatibility, and if unknown. PTX of that CUDA needs `exact`,
    because the driver compiles it.
    """

    cuda: Version
    os: str
    exact: Version | None
    minor_version_floor: Version | None
    source: tuple[str, ...]

    @property
    def least(self) -> Version | None:
        """The oldest driver with which any such program runs."""
        return self.minor_version_floor or self.exact
