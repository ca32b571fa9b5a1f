"""The rows of each table as frozen structs; None is a blank cell, which means unknown."""

from __future__ import annotations

import msgspec

from gpudoctor.versions import Version


class Source(msgspec.Struct, frozen=True):
    """Where facts were read. `read` is the ISO date of reading; `url` is blank if the source is a file, named by its title."""

    id: str
    title: str
    url: str
    read: str


class CudaRelease(msgspec.Struct, frozen=True):
    """A CUDA toolkit release (12.4 is the first of its minor, 12.4.1 its first update) and the oldest drivers for it.

    `driver_*` support all of this release; `minor_driver_*` run what was built with it under minor-version compatibility, since CUDA
    11.0. Windows floors are None if NVIDIA states none. `sass` are the architectures that its compiler targets, `ptx_isa` the PTX version
    that it writes and reads, `host_gcc` the highest major version of gcc that it accepts. `sonames` are its libraries as Linux programs
    name them ("libcudart.so.12") and `components` its packages with their versions ("nvidia-cublas-cu12==12.4.5.8"): () if unknown.
    """

    release: Version
    driver_linux: Version | None
    driver_windows: Version | None
    minor_driver_linux: Version | None
    minor_driver_windows: Version | None
    sass: tuple[str, ...] | None
    ptx_isa: Version | None
    host_gcc: int | None
    sonames: tuple[str, ...]
    components: tuple[str, ...]
    source: tuple[str, ...]
    note: str


class DriverBranch(msgspec.Struct, frozen=True):
    """A branch of the NVIDIA driver (550 includes 550.54.14 and, on Windows, 551.x and 552.x), its CUDA version and its GPUs.

    `kind` is NVIDIA's term: "production", "long-term" or "new-feature". `oldest_capability` and `newest_capability` bound the compute
    capabilities of its GPUs. `modules` are the flavours of its kernel modules, "proprietary" and "open"; the open flavour supports GPUs
    from `open_from` on, and is the only one from `open_only_from` on. NVIDIA maintains the branch through the month `end_of_life`
    ("2026-06"). `compat_packages` are the cuda-compat packages that it supports ("12.8"); GpuProduct.forward_compatible says on which GPUs.
    """

    branch: int
    cuda_served: Version | None
    oldest_capability: Version | None
    newest_capability: Version | None
    kind: str | None
    modules: tuple[str, ...]
    open_from: Version | None
    open_only_from: Version | None
    end_of_life: str | None
    compat_packages: tuple[str, ...] | None
    source: tuple[str, ...]
    note: str


class DriverPackage(msgspec.Struct, frozen=True):
    """A package that installs the NVIDIA driver on one release of a distribution ("debian-12", by ID and VERSION_ID of os-release).

    `version` is the driver's, None if the package follows the newest. `modules` is the flavour of its kernel modules, "proprietary" or
    "open", and `newest_kernel` the newest kernel on which the distribution built them. `origin` is "distribution" for its own archive,
    "nvidia" for NVIDIA's package repository.
    """

    system: str
    package: str
    version: Version | None
    modules: str
    newest_kernel: Version | None
    origin: str
    source: tuple[str, ...]
    note: str


class FrameworkRelease(msgspec.Struct, frozen=True):
    """What a published release of a framework's distribution states about itself, for one platform ("linux_x86_64"; "any" for pure Python).

    `pythons` are the interpreters that have a wheel ("3.11"). `accelerator` is what the binary was built for: "cuda", "cpu",
    "directml", "metal", or "none" for pure Python; "stub" is a release that only refuses to install.
    `cudnn` is the version it was built with. `sass` are architectures with machine code ("sm_80", "sm_90a") and `ptx` those with
    portable code that the driver compiles ("compute_90"): None is unknown, () is none. `requires` are its GPU-relevant requirements
    (NVIDIA's packages, numpy, protobuf, keras, other parts of the stack), as PEP 508 without spaces:
    `nvidia-cudnn-cu12<10.0,>=9.3.0.75;extra=="and-cuda"`. `numpy_abi` is the newest major version of NumPy that its compiled modules
    support, read from the binary; None if that was not read. `builds` are local versions of official builds ("cpu", "cu118") named on
    the project's page: there may be more. `unreachable` are the NVIDIA packages in `requires` whose libraries the wheel must open to use
    a GPU but cannot find by its own search path (RUNPATH): () if it finds all, None if that was not read.
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
    numpy_abi: int | None
    builds: tuple[str, ...]
    unreachable: tuple[str, ...] | None
    source: tuple[str, ...]
    note: str


class TorchBuild(msgspec.Struct, frozen=True):
    """The build of PyTorch with a local version ("cu126"), if it is not the index's build for that platform.

    `release` is the minor release (2.8), whose patches are all built the same way; the rest is as in FrameworkRelease.
    """

    release: Version
    platform: str
    local: str
    cudnn: Version | None
    sass: tuple[str, ...] | None
    ptx: tuple[str, ...] | None
    source: tuple[str, ...]
    note: str


class Fault(msgspec.Struct, frozen=True):
    """A reported defect of published wheels.

    It affects a distribution's releases from `first` to `last` on a platform ("any": all). `fault` is "ptx-refused": on GPUs from
    `oldest_capability` on a driver does not load the PTX of the release's own kernels; "broken": the wheel lacks a part that it needs;
    or "unpublished": other releases require it and the package index does not have it.
    """

    distribution: str
    first: Version
    last: Version
    fault: str
    oldest_capability: Version | None
    platform: str
    source: tuple[str, ...]
    note: str


class CudnnRelease(msgspec.Struct, frozen=True):
    """The content of a published cuDNN, for one major version of CUDA ("9.11.0.98" for 12) and one platform ("linux_aarch64").

    `sass` and `ptx` are the architectures of its kernels, as in FrameworkRelease.
    """

    release: Version
    cuda: int
    platform: str
    soname: str
    sass: tuple[str, ...] | None
    ptx: tuple[str, ...] | None
    source: tuple[str, ...]
    note: str


class GpuProduct(msgspec.Struct, frozen=True):
    """A GPU: NVML's name for it, the names people type, and its properties; on a board with several GPUs, one of them.

    `kind` is "data-center", "workstation", "geforce", "laptop" or "jetson". `memory_gib` is the nominal size in GiB, `bandwidth_gbs`
    its memory bandwidth in GB/s. The peaks are in TFLOPS, dense and accumulated in FP32: `fp32_tflops` is the plain rate, `tf32_tflops`,
    `bf16_tflops` and `fp16_tflops` are those of the tensor cores, or the plain rate without them.
    """

    name: str
    aliases: tuple[str, ...]
    kind: str
    compute_capability: Version
    architecture: str
    memory_gib: float | None
    bandwidth_gbs: float | None
    fp32_tflops: float | None
    tf32_tflops: float | None
    bf16_tflops: float | None
    fp16_tflops: float | None
    source: tuple[str, ...]
    note: str

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

    first: int
    last: int
    architecture: str
    compute_capability: Version
    source: tuple[str, ...]
    note: str


class Xid(msgspec.Struct, frozen=True):
    """An error that the driver logs under this number. `action` is NVIDIA's immediate action ("RESET_GPU"), or ""."""

    code: int
    mnemonic: str
    meaning: str
    action: str
    source: tuple[str, ...]
    note: str


class Sxid(msgspec.Struct, frozen=True):
    """An NVSwitch error that the driver logs under this number. `severity` is non-fatal, fatal, always-fatal or notable."""

    code: int
    meaning: str
    severity: str
    source: tuple[str, ...]
    note: str


class Engine(msgspec.Struct, frozen=True):
    """A container engine from `release` on: `cdi` is the newest version of the CDI specification that it supports."""

    engine: str
    release: Version
    cdi: Version
    source: tuple[str, ...]
    note: str


class CpuNeed(msgspec.Struct, frozen=True):
    """The processor features ("avx", as Linux calls them) without which a distribution's x86_64 wheels crash, from `release` on."""

    distribution: str
    release: Version
    features: tuple[str, ...]
    source: tuple[str, ...]
    note: str


class GpuNeed(msgspec.Struct, frozen=True):
    """The lowest compute capability that a distribution supports by its own statement, from `release` on."""

    distribution: str
    release: Version
    oldest_capability: Version
    source: tuple[str, ...]
    note: str


class NoGpuCode(msgspec.Struct, frozen=True):
    """A distribution without GPU code of its own: "pure" Python, or "compiled" for the CPU alone."""

    distribution: str
    kind: str
    source: tuple[str, ...]
    note: str


class PythonSpan(msgspec.Struct, frozen=True):
    """The first and the last release of a distribution with wheels for a Python version; without a last one all later ones have them."""

    distribution: str
    python: Version
    first: Version
    last: Version | None
    source: tuple[str, ...]
    note: str


class Bound(msgspec.Struct, frozen=True):
    """The version from which on something is true of a package; compat/README.md describes each `bound`."""

    package: str
    bound: str
    version: Version
    source: tuple[str, ...]
    note: str


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
