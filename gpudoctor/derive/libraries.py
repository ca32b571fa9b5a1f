"""The libraries that a framework asks for, by the X-ray: which of them it would not get, and where else files of that name are."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.cuda_libraries import WHEELS
from gpudoctor.derive.packages import Stack
from gpudoctor.snapshot import Asking, Cause, Damage, Distribution, FoundBy, LibraryUse, Missing, Place

DRIVER = "cuda"
"""The component that comes with the driver; the rules on the driver check it."""
PATH = "LD_LIBRARY_PATH"
_IN_WHEEL_OF = {"cublaslt": "cublas"}
"""The component whose wheel holds a library that has none of its own."""
_WHEELS = {**WHEELS, "cupti": "nvidia-cuda-cupti"}


def is_lost(use: LibraryUse) -> bool:
    """Whether none of the places that were looked at holds the file."""
    return isinstance(use.file, Missing) and use.file.cause is Cause.ABSENT


def missing_libraries(uses: Iterable[LibraryUse]) -> tuple[LibraryUse, ...]:
    """Those that a framework does not work without, and that the loader would not find."""
    return tuple(use for use in uses if use.vital and use.asking in {Asking.LINKED, Asking.OPENED} and is_lost(use))


def damaged_libraries(uses: Iterable[LibraryUse]) -> tuple[tuple[LibraryUse, Damage], ...]:
    """Those that a framework does not work without and whose file is there but cannot be loaded, each with its damage."""
    return tuple((use, use.damaged[0]) for use in uses if use.vital and isinstance(use.file, Missing) and use.damaged)


def same_name(use: LibraryUse) -> tuple[Place, ...]:
    """Files of exactly that name on disk, where the loader does not look."""
    return tuple(place for place in use.elsewhere if place.path.rpartition("/")[2] == use.wanted)


def copy_in_wheel(use: LibraryUse) -> str:
    """The file of exactly that name in one of NVIDIA's packages, where the loader does not look; empty where there is none."""
    return next((place.path for place in same_name(use) if place.found_by is FoundBy.WHEEL), "")


def installed_wheels(
    uses: Iterable[LibraryUse], cuda: EffectiveCuda | Missing, stack: Stack | Missing
) -> tuple[tuple[LibraryUse, Distribution], ...]:
    """Those whose wheel is installed according to its metadata, each with that wheel: an installer would find nothing to do."""
    if isinstance(cuda, Missing) or isinstance(stack, Missing) or stack.supposed:
        return ()
    found = []
    for use in uses:
        component = component_of(use)
        name = _WHEELS.get(component, f"nvidia-{component}")
        wheel = stack.distributions.get(f"{name}-cu{cuda.version.major}") or stack.distributions.get(name)
        if wheel is not None:
            found.append((use, wheel))
    return tuple(found)


def component_of(use: LibraryUse) -> str:
    """The component whose wheel holds a library."""
    return _IN_WHEEL_OF.get(use.component, use.component)


def folder(path: str) -> str:
    """The folder of a file, without the steps back of a RUNPATH."""
    parts: list[str] = []
    for part in path.split("/")[:-1]:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
