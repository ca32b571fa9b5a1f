"""The rows about packages, CUDA and sources as frozen structs; None is a blank cell, which means unknown."""

from __future__ import annotations

import msgspec

from gpudoctor.matrix.cells import (
    Accelerator,
    Architectures,
    BoundName,
    CodeKind,
    Date,
    FaultName,
    Names,
    Number,
    Platform,
    Release,
    Required,
    Sources,
    Text,
    Words,
)
from gpudoctor.versions import Version


class Source(msgspec.Struct, frozen=True):
    """Where facts were read. `read` is the ISO date of reading; `url` is blank if the source is a file, named by its title."""

    id: Required
    title: Required
    url: Text
    read: Date


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
    sass: Architectures | None
    ptx_isa: Version | None
    host_gcc: Number | None
    sonames: Words
    components: Words
    source: Sources
    note: Text


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

    distribution: Required
    release: Release
    platform: Platform
    pythons: Words
    accelerator: Accelerator
    built_with_cuda: Version | None
    cudnn: Version | None
    sass: Architectures | None
    ptx: Architectures | None
    requires: Words
    numpy_abi: Number | None
    builds: Words
    unreachable: Names | None
    source: Sources
    note: Text


class TorchBuild(msgspec.Struct, frozen=True):
    """The build of PyTorch with a local version ("cu126"), if it is not the index's build for that platform.

    `release` is the minor release (2.8), whose patches are all built the same way. `nvidia` are its requirements for NVIDIA's packages:
    None if unknown, () if it brings the libraries itself. The rest is as in FrameworkRelease.
    """

    release: Version
    platform: Platform
    local: Required
    cudnn: Version | None
    sass: Architectures | None
    ptx: Architectures | None
    nvidia: Names | None
    source: Sources
    note: Text


class Fault(msgspec.Struct, frozen=True):
    """A reported defect of published wheels, or of what is built with some releases of CUDA (distribution "cuda").

    It affects a distribution's releases from `first` to `last` on a platform ("any": all). `fault` is "ptx-refused": on GPUs from
    `oldest_capability` on a driver does not load the PTX of the release's own kernels; "ptx-computes-wrong": there that PTX and the CUDA
    libraries of the release return wrong results, hang or fail; "broken": the wheel lacks a part that it needs; "broken-extra": only what an extra requires is missing;
    or "unpublished": people or other releases pin it and the package index does not have it.
    """

    distribution: Required
    first: Release
    last: Release
    fault: FaultName
    oldest_capability: Version | None
    platform: Platform
    source: Sources
    note: Text


class Companion(msgspec.Struct, frozen=True):
    """What releases of a package, from `first` to `last`, need beside a framework and leave to an extra or to the user.

    `beside` is the framework, with its releases ("tensorflow>=2.16"), and each of `needs` is enough. Without it the package does not work
    with this framework, or only `part` of the package does not.
    """

    distribution: Required
    first: Release
    last: Release
    beside: Required
    needs: Words
    part: Text
    source: Sources
    note: Text


class CudnnRelease(msgspec.Struct, frozen=True):
    """The content of a published cuDNN, for one major version of CUDA ("9.11.0.98" for 12) and one platform ("linux_aarch64").

    `sass` and `ptx` are the architectures of its kernels, as in FrameworkRelease.
    """

    release: Version
    cuda: Number
    platform: Platform
    soname: Required
    sass: Architectures | None
    ptx: Architectures | None
    source: Sources
    note: Text


class ContainerEngine(msgspec.Struct, frozen=True):
    """A container engine from `release` on: `cdi` is the newest version of the CDI specification that it supports."""

    engine: Required
    release: Version
    cdi: Version
    source: Sources
    note: Text


class CpuNeed(msgspec.Struct, frozen=True):
    """The processor features ("avx", as Linux calls them) without which a distribution's x86_64 wheels crash, from `release` on."""

    distribution: Required
    release: Version
    features: Words
    source: Sources
    note: Text


class GpuNeed(msgspec.Struct, frozen=True):
    """The lowest compute capability that a distribution supports by its own statement, from `release` on."""

    distribution: Required
    release: Version
    oldest_capability: Version
    source: Sources
    note: Text


class NoGpuCode(msgspec.Struct, frozen=True):
    """A distribution without GPU code of its own: "pure" Python, or "compiled" for the CPU alone."""

    distribution: Required
    kind: CodeKind
    source: Sources
    note: Text


class PythonSpan(msgspec.Struct, frozen=True):
    """The first and the last release of a distribution with wheels for a Python version; without a last one all later ones have them."""

    distribution: Required
    python: Version
    first: Version
    last: Version | None
    source: Sources
    note: Text


class WheelTags(msgspec.Struct, frozen=True):
    """The C libraries that a distribution's wheels for a Linux platform accept, from `release` on: "manylinux_2_28" is glibc 2.28 or newer.

    Of several wheels the one that accepts the oldest counts. `tags` are of each kind the oldest, all kinds that there are; () if the wheels state none.
    """

    distribution: Required
    platform: Platform
    release: Release
    tags: Words
    source: Sources
    note: Text


class Withdrawn(msgspec.Struct, frozen=True):
    """The releases of a distribution that its authors withdrew from the package index (PEP 592): an installer takes one only where it is pinned."""

    distribution: Required
    releases: Words
    source: Sources
    note: Text


class RequirementSpan(msgspec.Struct, frozen=True):
    """A requirement that the rows of a distribution's releases leave out, since it bears on no GPU: torch 2.5.0 to 2.6.0 need sympy==1.13.1.

    It applies to every release in the tables from `first` to `last`; `requirement` names `package` and is PEP 508 without spaces, for all platforms.
    """

    distribution: Required
    package: Required
    requirement: Required
    first: Release
    last: Release
    source: Sources
    note: Text


class Bound(msgspec.Struct, frozen=True):
    """The version from which on something is true of a package; compat/README.md describes each `bound`."""

    package: Required
    bound: BoundName
    version: Version
    source: Sources
    note: Text
