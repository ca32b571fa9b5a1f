"""Which CUDA a framework would run with, and which driver that takes: the wheel's own files first, then the matrix."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.site import Site
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.snapshot import Cause, Fact, Framework, Missing, Python
from gpudoctor.versions import Version


class EffectiveCuda(msgspec.Struct, frozen=True, kw_only=True):
    """The CUDA that a framework's build wants, and the oldest drivers for it."""

    version: Version
    where: str
    cudnn: Version | Missing
    cudnn_where: str = ""
    floor: Version | Missing
    """The oldest Linux driver that runs it: under minor-version compatibility where CUDA has that, else the exact one."""
    exact_floor: Version | Missing
    """The oldest Linux driver that serves all of it, PTX included."""
    floor_where: str = ""
    disagreement: str = ""
    """What another source says, where it says something else."""


_UNKNOWN_FLOOR = Missing(Cause.NOT_STATED, "the compatibility matrix has no driver floor for this CUDA")


def _row(framework: Framework, python: Python | Missing, matrix: Matrix) -> FrameworkRelease | None:
    """What the matrix knows of this release."""
    if not isinstance(framework.version, Fact):
        return None
    interpreter = python.version if isinstance(python, Python) and isinstance(python.version, str) else None
    parsed = versions.parse(interpreter) if interpreter else None
    return matrix.resolve(framework.distribution, framework.version.value, python=parsed.short if parsed else None).row


def _settle(own: Fact | Missing, known: Version | None, row: FrameworkRelease | None) -> tuple[Version | None, str, str]:
    """A version, where it was read, and the disagreement.

    The framework's own word outranks the matrix, which only makes it more precise: TensorFlow 1.14 says "10" and means 10.0.
    """
    said = versions.parse(own.value) if isinstance(own, Fact) else None
    where = f"matrix: {row.distribution} {row.release} ({', '.join(row.source)})" if row is not None else ""
    if said is None or not isinstance(own, Fact):
        return known, where if known is not None else "", ""
    if known is None:
        return said, own.where, ""
    if _differs(said, known):
        return said, own.where, f"{where} says {known}"
    return (known, f"{own.where} ({said}); {where}", "") if _parts(said) < _parts(known) else (said, own.where, "")


def _parts(version: Version) -> int:
    return version.text.count(".") + 1


def _differs(said: Version, known: Version) -> bool:
    """Whether two versions differ in a part, down to the minor one, that both state ("9" and "9.3.0" do not)."""
    parts = min(_parts(said), _parts(known), 2)
    return said[:parts] != known[:parts]


def _floors(cuda: Version, matrix: Matrix) -> tuple[Version | Missing, Version | Missing, str]:
    known = matrix.driver_floor(cuda)
    if known is None:
        return _UNKNOWN_FLOOR, _UNKNOWN_FLOOR, ""
    exact = known.exact or _UNKNOWN_FLOOR
    return known.minor_version_floor or exact, exact, f"matrix: CUDA {cuda.short} ({', '.join(known.source)})"


def effective_cuda(framework: Framework, python: Python | Missing, matrix: Matrix) -> EffectiveCuda | Missing:
    """The CUDA `framework` would run with; absent where its build has none, not-stated where nothing says."""
    if framework.cuda_build is False:
        return Missing(Cause.ABSENT, f"{framework.distribution} is built without CUDA")
    row = _row(framework, python, matrix)
    if row is not None and row.accelerator == "cpu" and not isinstance(framework.built_with_cuda, Fact):
        return Missing(Cause.ABSENT, f"{row.distribution} {row.release} is published without CUDA")
    cuda, where, disagreement = _settle(framework.built_with_cuda, row.built_with_cuda if row else None, row)
    if cuda is None:
        return Missing(Cause.NOT_STATED, f"neither {framework.distribution}'s own files nor the matrix say which CUDA it was built with")
    cudnn, cudnn_where, cudnn_clash = _settle(framework.built_with_cudnn, row.cudnn if row else None, row)
    floor, exact, floor_where = _floors(cuda, matrix)
    return EffectiveCuda(
        version=cuda,
        where=where,
        cudnn=cudnn or Missing(Cause.NOT_STATED, "no source says which cuDNN it was built with"),
        cudnn_where=cudnn_where,
        floor=floor,
        exact_floor=exact,
        floor_where=floor_where,
        disagreement="; ".join(filter(None, (disagreement, cudnn_clash))),
    )


MINOR_COMPATIBILITY_SINCE = 11
"""CUDA's first major release with minor-version compatibility, by its Compatibility guide."""


def serves(driver: Driver, effective: EffectiveCuda, site: Site) -> bool | Missing:
    """Whether the driver is new enough for the CUDA of a build; missing where the driver that it takes is not known.

    Linux drivers are held against the release's floor. A Windows driver behind WSL counts differently; there the CUDA that it serves
    must be of the same major release, or no older than the build's where CUDA had no minor-version compatibility.
    """
    if not site.on_wsl:
        return effective.floor if isinstance(effective.floor, Missing) else driver.version >= effective.floor
    if isinstance(driver.cuda_served, Missing):
        return driver.cuda_served
    if effective.version.major < MINOR_COMPATIBILITY_SINCE:
        return driver.cuda_served >= effective.version
    return driver.cuda_served.major >= effective.version.major
