"""Whether the wheel variant that was installed (PEP 825) was built for the driver and the GPUs of this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.snapshot import Variant
from gpudoctor.versions import Version

_NVIDIA = "nvidia"
_LOWER, _UPPER, _CODE = "cuda_version_lower_bound", "cuda_version_upper_bound", "sm_arch"
"""The features of NVIDIA's variant provider: CUDA bounds of the driver, the upper one excluded, and CMake's architectures (90_real)."""


class Unmet(msgspec.Struct, frozen=True):
    """A feature of a variant without a value that suits this machine."""

    feature: str
    """As in variant.json: "nvidia :: cuda_version_lower_bound"."""
    wanted: str
    """What it was built for."""
    by_gpus: bool = False
    """Whether the GPUs do not suit, not the driver."""
    minor: bool = False
    """Whether only the driver's minor version of CUDA is too old, which minor-version compatibility allows."""


def concerns_gpus(variant: Variant) -> bool:
    """Return whether a variant states something about NVIDIA GPUs or drivers."""
    return bool(_values(variant, _LOWER) or _values(variant, _UPPER) or _values(variant, _CODE))


def unmet(variant: Variant, served: Version | None, capabilities: Iterable[Version]) -> Iterator[Unmet]:
    """Yield what does not suit a driver that supports CUDA up to `served`, and these GPUs; nothing for features of others."""
    lower, upper = (list(filter(None, map(versions.parse, _values(variant, feature)))) for feature in (_LOWER, _UPPER))
    if served is not None and lower and min(lower) > served:
        wanted = min(lower)
        yield Unmet(f"{_NVIDIA} :: {_LOWER}", f"drivers that support CUDA {wanted.text} or newer", minor=wanted.major == served.major)
    if served is not None and upper and max(upper) <= served:
        yield Unmet(f"{_NVIDIA} :: {_UPPER}", f"drivers that support CUDA older than {max(upper).text}")
    built = sorted(_architectures(variant))
    if built and not all(any(_runs(one, gpu) for one in built) for gpu in capabilities):
        names = ", ".join(dict.fromkeys(one.short for one, _ in built))
        yield Unmet(f"{_NVIDIA} :: {_CODE}", f"compute capability {names}", by_gpus=True)


def _values(variant: Variant, feature: str) -> list[str]:
    prefix = f"{_NVIDIA} :: {feature} :: "
    return [one.removeprefix(prefix) for one in variant.properties if one.startswith(prefix)]


def _architectures(variant: Variant) -> Iterator[tuple[Version, bool]]:
    """Yield the compute capabilities that the variant has code for, each with whether that is machine code: 90_real, 80_virtual."""
    for value in _values(variant, _CODE):
        digits, _, kind = value.partition("_")
        if digits.isdecimal() and len(digits) in {2, 3} and kind in {"real", "virtual"}:
            yield Version(int(digits[:-1]), int(digits[-1]), text=f"{digits[:-1]}.{digits[-1]}"), kind == "real"


def _runs(code: tuple[Version, bool], gpu: Version) -> bool:
    capability, is_machine_code = code
    return capability <= gpu and (not is_machine_code or capability.major == gpu.major)
