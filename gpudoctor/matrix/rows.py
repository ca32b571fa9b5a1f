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
    CUDA has since 11.0. Windows floors are unknown where NVIDIA states none. `sass` are the architectures that its compiler makes
    machine code for, `ptx_isa` is the version of the PTX language that it writes and reads, `host_gcc` the highest major version
    of gcc that it accepts. `sonames` are its libraries as a program on Linux names them ("libcudart.so.12"), () where unknown.
    `components` are the packages that make it up, each with its own version ("nvidia-cublas-cu12==12.4.5.8"), () where unknown.
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
    """A branch of the NVIDIA driver (550 holds 550.54.14 and, on Windows, 551.x and 552.x), the CUDA it serves and the GPUs it drives.

    `kind` is NVIDIA's word for it: "production", "long-term" or "new-feature". `oldest_capability` and `newest_capability` bound
    the compute capabilities of its GPUs. `modules` are the flavours of its kernel modules, "proprietary" and "open"; the open
    flavour drives GPUs from `open_from` on, and from `open_only_from` on no other flavour does. `end_of_life` is the month after
    which NVIDIA no longer maintains it ("2026-06"). `compat_packages` are the cuda-compat packages that NVIDIA supports on it
    ("12.8"), () where there are none; GpuProduct.forward_compatible says on which GPUs.
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

    `version` is the driver's, None where the package follows the newest. `modules` is the flavour of its kernel modules, "proprietary"
    or "open". `origin` is "distribution" for its own archive, "nvidia" for NVIDIA's package repository.
    """

    system: str
    package: str
    version: Version | None
    modules: str
    origin: str
    source: tuple[str, ...]
    note: str


class FrameworkRelease(msgspec.Struct, frozen=True):
    """What one published release of a framework's distribution says of itself, for one platform ("linux_x86_64"; "any" for Python alone).

    `pythons` are the interpreters that have a wheel ("3.11"). `accelerator` is what the binary was built for: "cuda", "cpu",
    "directml", "metal", or "none" for pure Python; "stub" is a release that only refuses to install.
    `cudnn` is what it was built with. `sass` are architectures with machine code ("sm_80", "sm_90a") and `ptx` those with
    portable code that the driver compiles ("compute_90"): None is unknown, () is none. `requires` is what its metadata requires of
    the packages that matter to a GPU (NVIDIA's, numpy, protobuf, keras, other parts of the stack), as PEP 508 without spaces:
    `nvidia-cudnn-cu12<10.0,>=9.3.0.75;extra=="and-cuda"`. `numpy_abi` is the newest major release of NumPy that its compiled
    modules run with, by the binary; None where that was not read. `builds` are local versions of official builds ("cpu",
    "cu118"), those that the project's page names: there may be more.
    `unreachable` are the NVIDIA packages in `requires` whose libraries the wheel must open
    to use a GPU and does not find by its own search path (RUNPATH): () where it finds all, None where that was not read.
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
    """The build of PyTorch with a local version ("cu126"), where it is not the one that the index has for that platform.

    `release` is the minor release (2.8), all of whose patches are built alike; the rest is as in FrameworkRelease.
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
    """What published wheels do not do although they hold what it takes, as people who tried report.

    It holds for the releases of a distribution from `first` to `last`, on GPUs from `oldest_capability` on. `fault` is "ptx-refused": a
    driver does not load the PTX of the release's own kernels.
    """

    distribution: str
    first: Version
    last: Version
    fault: str
    oldest_capability: Version
    source: tuple[str, ...]
    note: str


class CudnnRelease(msgspec.Struct, frozen=True):
    """What a published cuDNN holds, for one major release of CUDA ("9.11.0.98" for 12) and one platform ("linux_aarch64").

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
    """A GPU as NVML names it, how people type it, and what it is; of a board with several GPUs, one of them.

    `kind` is "data-center", "workstation", "geforce", "laptop" or "jetson". `memory_gib` is the nominal size in GiB, `bandwidth_gbs`
    that of its memory in GB/s. The peaks are in TFLOPS, dense (without sparsity) and accumulated in FP32: `fp32_tflops` is the
    plain rate, `tf32_tflops`, `bf16_tflops` and `fp16_tflops` are those of the tensor cores, of a GPU without them the plain rate.
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
        """Whether NVIDIA supports cuda-compat packages on it; None for a workstation's, of which it supports some in chosen servers.

        https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
        """
        return None if self.kind == "workstation" else self.kind in {"data-center", "jetson"}


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


class Sxid(msgspec.Struct, frozen=True):
    """An error of an NVSwitch that the driver logs under this number. `severity` is non-fatal, fatal, always-fatal or notable."""

    code: int
    meaning: str
    severity: str
    source: tuple[str, ...]
    note: str


class Engine(msgspec.Struct, frozen=True):
    """A container engine from `release` on: `cdi` is the newest version of the CDI specification that it reads."""

    engine: str
    release: Version
    cdi: Version
    source: tuple[str, ...]
    note: str


class CpuNeed(msgspec.Struct, frozen=True):
    """The features of a processor ("avx", as Linux calls them) without which a distribution's wheels for x86_64 end, from `release` on."""

    distribution: str
    release: Version
    features: tuple[str, ...]
    source: tuple[str, ...]
    note: str


class Bound(msgspec.Struct, frozen=True):
    """From which version on something holds of a package. What the version is of, compat/README.md says for each `bound`."""

    package: str
    bound: str
    version: Version
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
