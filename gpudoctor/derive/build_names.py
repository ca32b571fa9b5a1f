"""What a package's local version or conda build string says of its build: the CUDA, cuDNN or ROCm it is for, or that it has none."""

from __future__ import annotations

import msgspec

from gpudoctor.expressions import expression

_LOCAL_CUDA = expression(r"\+(?:\w+\.)?cu(?:da)?(?P<major>\d{1,2}?)(?P<minor>\d)?(?=$|[.\W_])")
_CUDA = expression(r"(?:^|_)cuda(?P<version>\d{1,2}\.\d{1,2}|\d{2,3})")
_CUDNN = expression(r"cudnn(?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)")
_GPU = expression(r"(?:^|_)(?:gpu|cuda)(?:_|$)")
_CPU = expression(r"(?:^|_|\+)(?:cpu|mkl|eigen|openblas|xpu)(?:_|\.|$|\d)")
_ROCM = expression(r"\+(?:git\w{0,20}\.)?rocm(?P<version>\d+\.\d+(?:\.\d+)?)")
_SINGLE_DIGIT_MAJORS = "6789"


class Build(msgspec.Struct, frozen=True):
    """What a build is for; None where the text does not say it."""

    has_cuda: bool | None = None
    cuda: str | None = None
    cudnn: str | None = None
    rocm: str | None = None


UNKNOWN_BUILD = Build()


def build_of_local_version(version: str) -> Build:
    """Return the build of a version such as 2.6.0+cu124, 2.6.0+cpu, 2.5.1+rocm6.2."""
    rocm, cuda = _ROCM.search(version), _LOCAL_CUDA.search(version)
    if rocm:
        return Build(has_cuda=False, rocm=rocm["version"])
    if cuda:
        return Build(has_cuda=True, cuda=_dotted_version(cuda["major"] + (cuda["minor"] or "")))
    return Build(has_cuda=False) if "+" in version and _CPU.search(version) else UNKNOWN_BUILD


def build_of_conda(build: str) -> Build:
    """Return the build of a conda package by its build string: py3.11_cuda12.1_cudnn8.9.2_0, cuda112py39h3ad47f5_300, cpu_py310h9a3d2f1_1."""
    cuda, cudnn = _CUDA.search(build), _CUDNN.search(build)
    if cuda:
        return Build(has_cuda=True, cuda=_dotted_version(cuda["version"]), cudnn=cudnn["version"] if cudnn else None)
    if _GPU.search(build):
        return Build(has_cuda=True)
    return Build(has_cuda=False) if _CPU.search(build) else UNKNOWN_BUILD


def _dotted_version(digits: str) -> str:
    """Return CUDA's version as builds write it: 124 is 12.4, 92 is 9.2, 12 is 12."""
    if "." in digits or (len(digits) < 3 and digits[0] not in _SINGLE_DIGIT_MAJORS):
        return digits
    return f"{digits[:-1]}.{digits[-1]}"
