"""A framework's CUDA libraries: the version it was built with or requires, and the one it would load."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import wheel_platform
from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.cudnn_code import code_that_counts, cudnn_code
from gpudoctor.derive.demands import Demand
from gpudoctor.derive.gpu_code import EffectiveCode, xray_of_framework
from gpudoctor.derive.packages import Stack, source_of
from gpudoctor.derive.specifiers import clauses, parse_requirement
from gpudoctor.frameworks import spec_of, stack_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.snapshot import (
    Cause,
    Distribution,
    Fact,
    Framework,
    GpuCode,
    Host,
    LibraryFile,
    LibraryUse,
    Missing,
    Platform,
    Snapshot,
)
from gpudoctor.versions import Version

WHEEL_NAMES = {
    "cudart": "nvidia-cuda-runtime",
    "cublas": "nvidia-cublas",
    "cufft": "nvidia-cufft",
    "curand": "nvidia-curand",
    "cusolver": "nvidia-cusolver",
    "cusparse": "nvidia-cusparse",
    "nvrtc": "nvidia-cuda-nvrtc",
    "nvjitlink": "nvidia-nvjitlink",
    "cudnn": "nvidia-cudnn",
    "nccl": "nvidia-nccl",
}
"""The name of a component's wheel before "-cu12"; for CUDA 13 the toolkit's wheels have no suffix."""
_UNSTATED_VERSION = Missing(Cause.NOT_STATED, "the version that would be loaded is unknown")
_LOWER_BOUNDS = {"==", ">=", "~=", "==="}


class Origin(enum.Enum):
    """What shows the version of a library that would be loaded."""

    FILE = "the file that the loader finds"
    WHEEL = "the metadata of its wheel"
    SYSTEM = "the system's cuDNN"


class CudaComponent(msgspec.Struct, frozen=True, kw_only=True):
    """One CUDA library of one framework."""

    name: str
    """Its name in the X-ray: cudart, cudnn."""
    wanted: Version | Missing
    """The version that the build was made with, or requires at least."""
    wanted_where: str = ""
    loaded: Version | Missing
    """The version that its processes would load; if that name is not found, the one installed instead."""
    loaded_where: str = ""
    loaded_name: str = ""
    """What has that version: a file, a wheel, or where the system's cuDNN was found."""
    origin: Origin | None = None
    wheel: str = ""
    """The distribution that contains it, "nvidia-cudnn-cu12"."""
    chosen: bool = False
    """Its version was not stated: an installer would choose the newest that is allowed."""
    demands: tuple[Demand, ...] = ()
    """What the parts of the framework require of the wheel."""
    code: EffectiveCode | Missing = _UNSTATED_VERSION
    """The GPU code in it."""


def cuda_component(
    name: str,
    framework: Framework,
    cuda: EffectiveCuda,
    snapshot: Snapshot,
    *,
    stack: Stack | Missing,
    rows: tuple[FrameworkRelease, ...] = (),
) -> CudaComponent:
    """One component of a framework built with `cuda`; its GPU code only if the X-ray read it.

    `rows` are the matrix's for the framework's release: any extra's requirements show what it was built with.
    """
    wheels = (f"{WHEEL_NAMES[name]}-cu{cuda.version.major}", WHEEL_NAMES[name])
    demands = tuple(_wheel_demands(framework, wheels, stack))
    wanted, wanted_where = _required_release(name, cuda, demands, _published_specifiers(rows, wheels))
    uses = tuple(_component_uses(name, framework, snapshot))
    file, wheel = _file_with_version(uses), _installed_wheel(framework, wheels, demands, stack)
    loaded, where, place, origin = _loaded_version(name, framework, snapshot, file, wheel)
    return CudaComponent(
        name=name,
        wanted=wanted,
        wanted_where=wanted_where,
        loaded=loaded,
        loaded_where=where,
        loaded_name=place,
        origin=origin,
        wheel=wheel.name if wheel else wheels[0],
        chosen=wheel is not None and wheel.chosen and file is None,
        demands=demands,
        code=_code_of_files(uses),
    )


def _wheel_demands(framework: Framework, wheels: tuple[str, ...], stack: Stack | Missing) -> Iterator[Demand]:
    found = () if isinstance(stack, Missing) else stack.demands
    return (demand for demand in found if demand.requirement.name in wheels and stack_of(demand.by.name) == framework.name)


def _published_specifiers(rows: tuple[FrameworkRelease, ...], wheels: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The specifiers for the wheel in a release's metadata, with their source."""
    for row in rows:
        read = (parse_requirement(line) for line in row.requires if line.startswith(wheels))
        yield from ((found.specifier, source_of(row)) for found in read if found is not None and found.name in wheels)


def _required_release(
    name: str, cuda: EffectiveCuda, demands: tuple[Demand, ...], published: Iterable[tuple[str, str]]
) -> tuple[Version | Missing, str]:
    """The newest minimum version set by the build or a requirement; the more exact one if two agree."""
    said: list[tuple[Version, str]] = []
    if name == "cudnn" and isinstance(cuda.cudnn, Version):
        said.append((cuda.cudnn, f"built with it, by {cuda.cudnn_where}"))
    required = [(demand.requirement.specifier, f"{demand.text}, by {demand.where}") for demand in demands]
    for specifier, where in required or published:
        bounds = (versions.parse_version(text) for operator, text in clauses(specifier) or () if operator in _LOWER_BOUNDS)
        said += ((bound, where) for bound in bounds if bound is not None)
    return max(said, key=lambda one: one[0], default=(_UNSTATED_VERSION, ""))


def _component_uses(name: str, framework: Framework, snapshot: Snapshot) -> Iterator[LibraryUse]:
    seen = xray_of_framework(framework, snapshot.libraries)
    if seen is not None and isinstance(seen.uses, tuple):
        yield from (use for use in seen.uses if use.component == name)


def _file_with_version(uses: Iterable[LibraryUse]) -> LibraryFile | None:
    """The first file of the component that would be loaded and states its version."""
    files = (use.file for use in uses if isinstance(use.file, LibraryFile))
    return next((file for file in files if isinstance(file.version, Fact)), None)


def _installed_wheel(
    framework: Framework, names: tuple[str, ...], demands: tuple[Demand, ...], stack: Stack | Missing
) -> Distribution | None:
    """The wheel that contains the component; a build with its own CUDA only searches wheels that it requires."""
    if isinstance(stack, Missing) or (spec_of(framework.name).brings_cuda and not demands):
        return None
    return next((stack.distributions[name] for name in names if name in stack.distributions), None)


def _loaded_version(
    name: str, framework: Framework, snapshot: Snapshot, file: LibraryFile | None, wheel: Distribution | None
) -> tuple[Version | Missing, str, str, Origin | None]:
    """The version that would be loaded, with its evidence's place, what has it, and what shows it."""
    places: list[tuple[str, tuple[str, str, Origin]]] = []
    if file is not None and isinstance(file.version, Fact):
        places.append((file.version.value, (f"{file.path} ({file.version.where})", file.path, Origin.FILE)))
    if wheel is not None:
        places.append((wheel.version, (f"{wheel.name} {wheel.version}, {wheel.where}", wheel.name, Origin.WHEEL)))
    if name == "cudnn" and isinstance(snapshot.system_cudnn, Fact) and not spec_of(framework.name).brings_cuda:
        where = snapshot.system_cudnn.where
        places.append((snapshot.system_cudnn.value, (where, where, Origin.SYSTEM)))
    parsed = ((versions.parse_version(text), place) for text, place in places)
    return next(((version, *place) for version, place in parsed if version is not None), (_UNSTATED_VERSION, "", "", None))


def _code_of_files(uses: tuple[LibraryUse, ...]) -> EffectiveCode | Missing:
    """The code of the file with the most kernels; for cuDNN one of its sub-libraries, each read separately."""
    files = [use.file for use in uses if isinstance(use.file, LibraryFile) and isinstance(use.file.code, GpuCode)]
    found = [(file.path, file.code) for file in files if isinstance(file.code, GpuCode) and (file.code.sass or file.code.ptx)]
    if not found:
        return _UNSTATED_VERSION
    path, code = max(found, key=lambda one: (_is_convolution_library(one[0]), len(one[1].sass) + len(one[1].ptx)))
    return EffectiveCode(sass=code.sass, ptx=code.ptx, where=path)


def _is_convolution_library(path: str) -> bool:
    """Whether this sub-library of cuDNN contains the precompiled convolutions."""
    name = path.rpartition("/")[2]
    return name.startswith(("libcudnn_engines_precompiled", "libcudnn_cnn_infer"))


def component_with_code(found: CudaComponent, cuda: EffectiveCuda, snapshot: Snapshot, matrix: Matrix) -> CudaComponent:
    """A cuDNN with its GPU code, from its files or otherwise from the matrix; "9" alone, or what the build needs, gives an upper bound.

    The matrix has the published wheels of each platform, but not the build of a Jetson's system cuDNN. Where a text does not state the
    platform, the wheels of all platforms have to agree.
    """
    major = cuda.version.major
    if not isinstance(found.code, Missing):
        loaded = found.loaded
        return (
            found
            if isinstance(loaded, Missing)
            else msgspec.structs.replace(found, code=code_that_counts(found.code, loaded, major, matrix))
        )
    version = next((other for other in (found.loaded, found.wanted) if isinstance(other, Version)), None)
    jetson = isinstance(snapshot.host, Host) and snapshot.host.platform == Platform.JETSON
    if jetson and found.origin is not Origin.WHEEL:
        return found
    platform = wheel_platform.platform_name(snapshot.host, snapshot.python)
    if version is None or isinstance(found.loaded, Missing) or "." not in version.text:
        row = None
    elif platform or not wheel_platform.is_unstated(snapshot.host):
        row = matrix.cudnn(version, major, platform)
    else:
        row = matrix.cudnn_of_any_platform(version, major)
    code = cudnn_code(version, major, row, matrix)
    return found if code is None else msgspec.structs.replace(found, code=code)


def cudnn_difference(wanted: Version, loaded: Version) -> str:
    """How a cuDNN differs from the one a build needs: "major", "older", or "" if it will do.

    Minor versions of one major version are backwards compatible; patches do not count. TensorFlow, PyTorch and JAX compare this way too.
    """
    if wanted.major != loaded.major:
        return "major"
    said = min(wanted.text.count("."), loaded.text.count("."))
    return "older" if said and loaded.minor < wanted.minor else ""


_STATICALLY_LINKED = ("xgboost", "faiss-gpu")
"""Packages whose libraries contain the CUDA runtime: they need none of its files. Read from the wheels of XGBoost 1.7.6, 2.1.1 and 3.4.1 and faiss-gpu 1.7.2."""


def takes_system_cuda(framework: Framework, cuda: EffectiveCuda, stack: Stack | Missing) -> bool:
    """Return whether a build loads the system's CUDA, because nothing in its environment contains one."""
    if spec_of(framework.name).brings_cuda or framework.distribution in _STATICALLY_LINKED:
        return False
    return isinstance(stack, Missing) or not brings_runtime(
        stack, (f"{WHEEL_NAMES['cudart']}-cu{cuda.version.major}", WHEEL_NAMES["cudart"])
    )


def brings_runtime(stack: Stack, names: tuple[str, ...]) -> bool:
    """Whether one of these wheels is installed, or an installer would add it."""
    wanted = {demand.requirement.name for demand in stack.demands} if stack.supposed else set()
    return any(name in stack.distributions or name in wanted for name in names)
