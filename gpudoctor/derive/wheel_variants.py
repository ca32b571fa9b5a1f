"""Whether the wheel variant that was installed (PEP 825) was built for the driver and the GPUs of this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive.gpu_code import UNSUPPORTED_FITS, EffectiveCode, fit_of_code, parse_architecture
from gpudoctor.snapshot import Variant
from gpudoctor.versions import Version

_NVIDIA = "nvidia"
_LOWER_BOUND, _UPPER_BOUND, _GPU_CODE = "cuda_version_lower_bound", "cuda_version_upper_bound", "sm_arch"
"""The features of NVIDIA's variant provider: CUDA bounds of the driver, the upper one excluded, and CMake's architectures (90_real)."""


class UnmetFeature(msgspec.Struct, frozen=True):
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
    return bool(_feature_values(variant, _LOWER_BOUND) or _feature_values(variant, _UPPER_BOUND) or _feature_values(variant, _GPU_CODE))


def unmet_features(variant: Variant, served: Version | None, capabilities: Iterable[Version]) -> Iterator[UnmetFeature]:
    """Yield what does not suit a driver that supports CUDA up to `served`, and these GPUs; nothing for features of others."""
    lower, upper = (
        list(filter(None, map(versions.parse_version, _feature_values(variant, feature)))) for feature in (_LOWER_BOUND, _UPPER_BOUND)
    )
    if served is not None and lower and min(lower) > served:
        wanted = min(lower)
        yield UnmetFeature(
            f"{_NVIDIA} :: {_LOWER_BOUND}", f"drivers that support CUDA {wanted.text} or newer", minor=wanted.major == served.major
        )
    if served is not None and upper and max(upper) <= served:
        yield UnmetFeature(f"{_NVIDIA} :: {_UPPER_BOUND}", f"drivers that support CUDA older than {max(upper).text}")
    words = _architectures(variant)
    sass, ptx = (tuple(word for word in words if word.startswith(prefix)) for prefix in ("sm_", "compute_"))
    code = EffectiveCode(sass=sass, ptx=ptx, where="variant.json")
    if any(fit_of_code(code, gpu) in UNSUPPORTED_FITS for gpu in capabilities):
        built = sorted({(one.major, one.minor) for one in map(parse_architecture, words) if one is not None})
        names = ", ".join(f"{major}.{minor}" for major, minor in built)
        yield UnmetFeature(f"{_NVIDIA} :: {_GPU_CODE}", f"compute capability {names}", by_gpus=True)


def _feature_values(variant: Variant, feature: str) -> list[str]:
    prefix = f"{_NVIDIA} :: {feature} :: "
    return [one.removeprefix(prefix) for one in variant.properties if one.startswith(prefix)]


def _architectures(variant: Variant) -> tuple[str, ...]:
    """Return the architectures that CMake's words stand for: 90_real is machine code, 80_virtual PTX, and 90 both."""
    kinds = {"real": ("sm",), "virtual": ("compute",), "": ("sm", "compute")}
    parts = (value.partition("_") for value in _feature_values(variant, _GPU_CODE))
    words = (f"{prefix}_{digits}" for digits, _, kind in parts for prefix in kinds.get(kind, ()))
    return tuple(word for word in words if parse_architecture(word))
