"""The GPU code in a framework's build, from the best source, and whether it runs on a GPU."""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable
from typing import Protocol

import msgspec

from gpudoctor import versions
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.gpus import Gpu
from gpudoctor.matrix import CudaRelease, Fault, FrameworkRelease, Matrix
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import Cause, CudaDevice, Framework, FrameworkLibraries, GpuCode, Libraries, Missing, NvmlGpu
from gpudoctor.versions import Version


class Fit(str, enum.Enum):
    """How a build's code fits a GPU."""

    NATIVE = "native"  # it has machine code for the GPU
    PTX = "ptx"  # the driver compiles portable code for it
    TOO_OLD = "too-old"  # all code, or all of its generation, is for newer GPUs
    TOO_NEW = "too-new"  # there is code for older GPUs, and no usable PTX
    UNKNOWN = "unknown"


RUNTIME_COMPILED_PREFIXES = ("cupy-cuda", "rmm-cu", "cucim-cu", "raft-dask-cu")
"""Name prefixes of distributions that compile their kernels for the GPU at run time, with NVRTC: https://docs.cupy.dev/en/stable/user_guide/kernel.html, or have none."""
PTX_FAULTS = ("ptx-refused", "ptx-computes-wrong")
"""The faults of a release whose PTX is no code for some GPUs."""
UNSUPPORTED_FITS = (Fit.TOO_OLD, Fit.TOO_NEW)


class Code(Protocol):
    """Anything with GPU code: sm_80 for machine code, compute_90 for PTX; () is none, None is unknown."""

    @property
    def sass(self) -> tuple[str, ...] | None:
        """Architectures with machine code."""
        ...

    @property
    def ptx(self) -> tuple[str, ...] | None:
        """Architectures with PTX."""
        ...


class EffectiveCode(msgspec.Struct, frozen=True, kw_only=True):
    """The GPU code of a framework's build."""

    sass: tuple[str, ...] | None
    ptx: tuple[str, ...] | None
    where: str
    others: tuple[EffectiveCode, ...] = ()
    """What other sources say, if they differ."""
    least: Version | None = None
    """If not all code is known: the lowest compute capability that the compiler supports."""
    most: Version | None = None
    """If not all code is known and PTX does not count: the highest one; its machine code runs on no later generation."""

    @property
    def text(self) -> str:
        """For a person: "sm_80 sm_90, PTX compute_90"."""
        if self.sass is not None or (self.least is None and self.most is None):
            return code_text(self)
        return (
            f"code for compute capability {self.least} and newer at most"
            if self.most is None
            else f"code up to compute capability {self.most} at most"
        )


class Architecture(msgspec.Struct, frozen=True):
    """One architecture as compilers name it: sm_90a is (9, 0, "a")."""

    major: int
    minor: int
    suffix: str


class GpuFit(msgspec.Struct, frozen=True):
    """One GPU and how a framework's code fits it."""

    gpu: Gpu
    capability: Version | None
    fit: Fit

    @property
    def capability_or_missing(self) -> Version | Missing:
        """The GPU's compute capability, or why it is unknown."""
        return missing_capability(self.gpu) if self.capability is None else self.capability


class GpuFits(tuple[GpuFit, ...]):
    """How a framework's code fits every GPU that its programs may use."""

    __slots__ = ()

    def lacking(self, fit: Fit) -> tuple[GpuFit, ...]:
        """The GPUs with one kind of fit."""
        return tuple(meeting for meeting in self if meeting.fit is fit)

    def leaves_usable_gpu(self, lost: Iterable[GpuFit]) -> bool:
        """Whether a GPU remains that is not among the lost ones and that the code may fit."""
        gone = {meeting.gpu.key for meeting in lost}
        return any(meeting.gpu.key not in gone and meeting.fit not in UNSUPPORTED_FITS for meeting in self)

    @property
    def is_unfit_everywhere(self) -> bool:
        """Whether the code is known not to run on any GPU."""
        return bool(self) and all(meeting.fit in UNSUPPORTED_FITS for meeting in self)


_INTEGRATED_CAPABILITIES = {(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)}
"""Compute capabilities of Jetson's and DRIVE's GPUs. Machine code of a lower minor version is only guaranteed to run on other GPUs, neither
on nor from these: CUDA C++ Programming Guide, "Binary Compatibility"."""


_BEFORE_PARALLEL_GENERATIONS = (10, 0)
"""Below it, a higher compute capability is a later generation: 10.0, 11.0 and 12.0 are of one."""


@functools.cache
def parse_architecture(word: str) -> Architecture | None:
    """The architecture that a word names; None if it names none."""
    prefix, _, digits = word.partition("_")
    suffix = digits[-1:] if digits[-1:] in {"a", "f"} else ""
    number = digits.removesuffix(suffix)
    if prefix not in {"sm", "compute"} or not (number.isascii() and number.isdigit()) or not 2 <= len(number) <= 3:
        return None
    return Architecture(int(number[:-1]), int(number[-1]), suffix)


def _parsed_architectures(words: Iterable[str]) -> list[Architecture]:
    return [found for word in words if (found := parse_architecture(word)) is not None]


def _runs_natively(code: Architecture, place: tuple[int, int]) -> bool | None:
    """Whether machine code runs on a GPU of this compute capability; None if NVIDIA guarantees neither."""
    if (code.major, code.minor) == place:
        return True
    if code.suffix == "a" or code.major != place[0] or code.minor > place[1]:
        return False
    return None if _INTEGRATED_CAPABILITIES & {place, (code.major, code.minor)} else True


def _is_compilable(code: Architecture, place: tuple[int, int]) -> bool:
    """Whether PTX can be compiled for a GPU of this compute capability, whatever the driver."""
    if code.suffix:
        return _runs_natively(code, place) is True
    return (code.major, code.minor) <= place


def _fit_outside_bounds(code: Code, place: tuple[int, int]) -> Fit | None:
    """Return how code lacks a GPU beyond what is known of it at most; None if it may have code for it."""
    if not isinstance(code, EffectiveCode):
        return None
    if code.least is not None and place < code.least[:2]:
        return Fit.TOO_OLD
    return Fit.TOO_NEW if code.most is not None and place[0] > code.most.major else None


def fit_of_code(code: Code, capability: Version) -> Fit:
    """How `code` fits a GPU. PTX counts if some driver can compile it; whether this driver is new enough is another question."""
    place = (capability.major, capability.minor)
    outside = _fit_outside_bounds(code, place)
    if outside is not None:
        return outside
    if code.sass is None or not (code.sass or code.ptx):
        return Fit.UNKNOWN
    natively = [_runs_natively(one, place) for one in _parsed_architectures(code.sass)]
    if True in natively:
        return Fit.NATIVE
    portable = _parsed_architectures(code.ptx or ())
    if any(_is_compilable(one, place) for one in portable):
        return Fit.PTX
    if code.ptx is None or None in natively:
        return Fit.UNKNOWN
    built_for = [(one.major, one.minor) for one in (*_parsed_architectures(code.sass), *portable)]
    later = [one for one in built_for if one > place]
    left_out = any(one[0] == place[0] or place < _BEFORE_PARALLEL_GENERATIONS for one in later)  # 6.1 by a build for 5.0 and 7.0
    return Fit.TOO_NEW if any(one <= place for one in built_for) and not left_out else Fit.TOO_OLD


def compiles_ptx(driver: Driver, cuda: EffectiveCuda, matrix: Matrix) -> bool | Missing:
    """Whether a driver compiles a build's PTX: the PTX version of the driver's CUDA must be at least that of the build's."""
    served = driver.cuda_served
    if isinstance(served, Missing) or served[:2] >= cuda.version[:2]:
        return served if isinstance(served, Missing) else True
    mine, theirs = matrix.cuda(served), matrix.cuda(cuda.version)
    return mine is not None and theirs is not None and bool(mine.ptx_isa and theirs.ptx_isa and mine.ptx_isa >= theirs.ptx_isa)


def code_text(code: Code) -> str:
    """Code for a person: "sm_80 sm_90, PTX compute_90"."""
    machine = "machine code not known" if code.sass is None else " ".join(code.sass) or "no machine code"
    portable = "PTX not known" if code.ptx is None else f"PTX {' '.join(code.ptx)}" if code.ptx else "no PTX"
    return f"{machine}, {portable}"


def compute_capability(gpu: Gpu, matrix: Matrix) -> Version | None:
    """A GPU's compute capability, by the driver or otherwise by its name."""
    for layer in (gpu.nvml, gpu.cuda, gpu.cuda_unmasked):
        if isinstance(layer, NvmlGpu | CudaDevice) and isinstance(layer.compute_capability, str):
            return versions.parse_version(layer.compute_capability)
    product = matrix.gpu(gpu.name) if isinstance(gpu.name, str) else None
    return product.compute_capability if product else None


def missing_capability(gpu: Gpu) -> Missing:
    """Why a GPU's compute capability is unknown."""
    unread = gpu.nvml.compute_capability if isinstance(gpu.nvml, NvmlGpu) else gpu.nvml
    return unread if isinstance(unread, Missing) else Missing(Cause.FAILED, f"{gpu.label}: {unread}")


def effective_code(
    framework: Framework, libraries: Libraries | Missing, row: FrameworkRelease | None, compilers: tuple[CudaRelease, ...] = ()
) -> EffectiveCode | Missing:
    """The GPU code of a build with CUDA, by its files, its own list or the matrix; not-stated if none has it.

    If its CUDA is known but not all of its code, the releases in `compilers` set a bound: there is no code for GPUs that none of their compilers
    supports.
    """
    compiled = _code_by_compiler(framework, compilers)
    said = [found for found in (_code_by_files(framework, libraries), _code_by_build(framework), _code_by_matrix(row)) if found is not None]
    said = said or [found for found in (compiled,) if found is not None]
    if not said:
        return Missing(Cause.NOT_STATED, f"no source states which GPUs {framework.distribution or framework.name} has kernels for")
    first = said[0]
    least = compiled.least if compiled is not None and first.ptx is None else first.least
    return msgspec.structs.replace(first, least=least, others=tuple(other for other in said[1:] if _differs(first, other)))


def _differs(code: EffectiveCode, other: EffectiveCode) -> bool:
    pairs = ((code.sass, other.sass), (code.ptx, other.ptx))
    return any(mine is not None and theirs is not None and set(mine) != set(theirs) for mine, theirs in pairs)


def xray_of_framework(framework: Framework, libraries: Libraries | Missing) -> FrameworkLibraries | None:
    """The X-ray of a framework; None if there is none."""
    found = () if isinstance(libraries, Missing) else libraries.frameworks
    return next((one for one in found if one.framework == framework.name), None)


def _code_by_files(framework: Framework, libraries: Libraries | Missing) -> EffectiveCode | None:
    seen = xray_of_framework(framework, libraries)
    if seen is None or not isinstance(seen.code, GpuCode):
        return None
    return EffectiveCode(sass=seen.code.sass, ptx=seen.code.ptx, where=seen.code_where or "fat binaries of its libraries")


def _code_by_build(framework: Framework) -> EffectiveCode | None:
    """The build's own list, where sm_60 is machine code and compute_90 machine code and PTX."""
    words = framework.architectures if isinstance(framework.architectures, tuple) else ()
    if not words or any(parse_architecture(word) is None for word in words):
        return None
    portable = tuple(word for word in words if word.startswith("compute_"))
    machine = tuple(word.replace("compute_", "sm_") for word in words)
    return EffectiveCode(sass=machine, ptx=portable, where="its build_info (cuda_compute_capabilities)")


def _code_by_matrix(row: FrameworkRelease | None) -> EffectiveCode | None:
    if row is None or row.sass is None:
        return None
    return EffectiveCode(sass=row.sass, ptx=row.ptx, where=citation(row.source, f"{row.distribution} {row.release}"))


def _code_by_compiler(framework: Framework, releases: tuple[CudaRelease, ...]) -> EffectiveCode | None:
    """What the compilers of these CUDA releases can produce: all of it if compiled at run time, otherwise at most that."""
    told = [(row, _parsed_architectures(row.sass)) for row in releases if row.sass]
    if not told:
        return None
    newest, made = told[-1]
    where = citation(newest.source, f"the compiler of CUDA {newest.release.short}")
    runtime = framework.distribution.startswith(RUNTIME_COMPILED_PREFIXES)
    least = min((one.major, one.minor) for _, every in told[-1 if runtime else 0 :] for one in every)
    top = max((one.major, one.minor) for one in made)
    return EffectiveCode(
        sass=newest.sass if runtime else None,
        ptx=(f"compute_{top[0]}{top[1]}",) if runtime else None,
        where=f"compiled at run time: {where}" if runtime else where,
        least=Version(*least, text=f"{least[0]}.{least[1]}"),
    )


def gpu_fits(code: EffectiveCode, gpus: Iterable[Gpu], matrix: Matrix, faults: tuple[Fault, ...] = ()) -> GpuFits:
    """How the code fits each GPU that is neither bound to vfio-pci nor hidden by CUDA_VISIBLE_DEVICES.

    `faults` are the release's: PTX that a driver refuses, or that computes wrong there, does not count.
    """
    used = (
        gpu
        for gpu in gpus
        if not gpu.is_passed_through and not (isinstance(gpu.cuda, Missing) and isinstance(gpu.cuda_unmasked, CudaDevice))
    )
    found = ((gpu, compute_capability(gpu, matrix)) for gpu in used)
    return GpuFits(GpuFit(gpu, known, fit_with_faults(code, known, faults) if known else Fit.UNKNOWN) for gpu, known in found)


def fit_with_faults(code: Code, capability: Version, faults: tuple[Fault, ...]) -> Fit:
    """Return how code meets a GPU, given the known faults of its release: PTX that fails on a GPU is no code for it."""
    fit = fit_of_code(code, capability)
    refused = any(fault.fault in PTX_FAULTS and fault.oldest_capability and capability >= fault.oldest_capability for fault in faults)
    return Fit.TOO_NEW if fit is Fit.PTX and refused else fit
