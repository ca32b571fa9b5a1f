"""The libraries that a framework requests, by the X-ray: those it would not get, and other files of those names."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.cuda_libraries import WHEEL_NAMES
from gpudoctor.derive.packages import Stack
from gpudoctor.derive.specifiers import Requirement
from gpudoctor.frameworks import NVIDIA_PACKAGES
from gpudoctor.snapshot import Asking, Damage, Distribution, FoundBy, LibraryUse, Missing, Place, is_absent

DRIVER_COMPONENT = "cuda"
"""The driver's own component, which the driver rules check."""
LIBRARY_PATH = "LD_LIBRARY_PATH"
_COMPONENT_OF_WHEEL = {"cublaslt": "cublas"}
"""The component whose wheel contains a library without a wheel of its own."""
_ALL_WHEEL_NAMES = {**WHEEL_NAMES, "cupti": "nvidia-cuda-cupti"}


def is_lost(use: LibraryUse) -> bool:
    """Whether no searched place has the file."""
    return is_absent(use.file)


def missing_libraries(uses: Iterable[LibraryUse]) -> tuple[LibraryUse, ...]:
    """The libraries that a framework needs and that the loader would not find."""
    return tuple(use for use in uses if use.vital and use.asking in {Asking.LINKED, Asking.OPENED} and is_lost(use))


def damaged_libraries(uses: Iterable[LibraryUse]) -> tuple[tuple[LibraryUse, Damage], ...]:
    """The libraries that a framework needs and whose file exists but cannot be loaded, each with its damage."""
    return tuple((use, use.damaged[0]) for use in uses if use.vital and isinstance(use.file, Missing) and use.damaged)


def places_of_same_name(use: LibraryUse) -> tuple[Place, ...]:
    """Files of exactly that name on disk outside the loader's path."""
    return tuple(place for place in use.elsewhere if place.path.rpartition("/")[2] == use.wanted)


def path_in_wheel(use: LibraryUse) -> str:
    """The file of exactly that name in one of NVIDIA's packages, outside the loader's path; empty if there is none."""
    return next((place.path for place in places_of_same_name(use) if place.found_by is FoundBy.WHEEL), "")


def installed_wheels(
    uses: Iterable[LibraryUse], cuda: EffectiveCuda | Missing, stack: Stack | Missing
) -> tuple[tuple[LibraryUse, Distribution], ...]:
    """The uses whose wheel is installed according to its metadata, each with the wheel: an installer would do nothing."""
    if isinstance(cuda, Missing) or isinstance(stack, Missing) or stack.supposed:
        return ()
    found = []
    for use in uses:
        component = component_of(use)
        name = _ALL_WHEEL_NAMES.get(component, f"nvidia-{component}")
        wheel = stack.distributions.get(f"{name}-cu{cuda.version.major}") or stack.distributions.get(name)
        if wheel is not None:
            found.append((use, wheel))
    return tuple(found)


def required_wheels(
    uses: Iterable[LibraryUse], cuda: EffectiveCuda | Missing, stack: Stack | Missing, distribution: str
) -> tuple[Requirement, ...]:
    """The wheels of NVIDIA that a distribution requires and that are not installed; empty unless they have the library of each use."""
    if isinstance(cuda, Missing) or isinstance(stack, Missing) or stack.supposed:
        return ()
    wanted = [demand.requirement for demand in stack.demands if demand.by.name == distribution]
    absent = {one.name: one for one in wanted if one.name.startswith(NVIDIA_PACKAGES) and one.name not in stack.distributions}
    wheels = [_ALL_WHEEL_NAMES.get(component, f"nvidia-{component}") for component in map(component_of, uses)]
    has_all = all(f"{wheel}-cu{cuda.version.major}" in absent or wheel in absent for wheel in wheels)
    return tuple(absent.values()) if has_all and wheels else ()


def component_of(use: LibraryUse) -> str:
    """The component whose wheel contains a library."""
    return _COMPONENT_OF_WHEEL.get(use.component, use.component)


def folder_of_file(path: str) -> str:
    """The folder of a file, without a RUNPATH's ".." parts."""
    parts: list[str] = []
    for part in path.split("/")[:-1]:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
