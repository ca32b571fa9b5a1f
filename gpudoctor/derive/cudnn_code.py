"""The GPU code in a cuDNN that counts: only some releases run on GPUs that they have no machine code for."""

from __future__ import annotations

import msgspec

from gpudoctor.derive import wheel_platform
from gpudoctor.derive.gpu_code import UNSUPPORTED_FITS, EffectiveCode, Fit, fit_of_code, fit_with_faults, parse_architecture
from gpudoctor.derive.specifiers import only_version, parse_requirements
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import CudnnRelease, FrameworkRelease, Matrix
from gpudoctor.matrix.citations import citation
from gpudoctor.matrix.tables import CUDNN
from gpudoctor.versions import Version, parse_version

_CUDNN_OPTIONAL = ("cupy",)
"""Distributions, by how their names begin, that train without cuDNN: their wheels neither hold nor require it.
https://docs.cupy.dev/en/stable/install.html, "Additional CUDA Libraries"."""


def optional_cudnn_module(distribution: str) -> str:
    """Return the module of a distribution that needs cuDNN, "cupy.cudnn", if the rest works without; "" for one that needs it."""
    return next((f"{name}.cudnn" for name in _CUDNN_OPTIONAL if distribution.startswith(name)), "")


def code_that_counts(code: EffectiveCode, version: Version, cuda: int, matrix: Matrix) -> EffectiveCode:
    """Return the code of a cuDNN for a major version of CUDA, without PTX if it does not run on later GPUs."""
    return code if _is_forward_compatible(version, cuda, matrix) else msgspec.structs.replace(code, ptx=())


def cudnn_code(version: Version | None, cuda: int, row: CudnnRelease | None, matrix: Matrix) -> EffectiveCode | None:
    """Return the code of a cuDNN with its row, or an upper bound: none that runs on no later GPU has more than all of these have together.

    Without a version it is that of any release for this CUDA. None if the row is unknown and the release may run on later GPUs.
    """
    if version is not None and row is not None and row.sass is not None:
        where = citation(row.source, f"cuDNN {row.release} for {wheel_platform.platform_label(row.platform)}")
        return code_that_counts(EffectiveCode(sass=row.sass, ptx=row.ptx, where=where), version, cuda, matrix)
    return None if _is_forward_compatible(version, cuda, matrix) else _code_upper_bound(cuda, matrix)


def _code_upper_bound(cuda: int, matrix: Matrix) -> EffectiveCode | None:
    """Return the upper bound for the releases that run on no later GPU; None if the code of none for this CUDA is known."""
    key = ("the code of a cuDNN at most", cuda)
    if key not in matrix.derived:
        rows = [
            row for row in matrix.rows(CUDNN) if row.cuda == cuda and row.sass and not _is_forward_compatible(row.release, cuda, matrix)
        ]
        tops = [((one.major, one.minor), row) for row in rows for one in map(parse_architecture, row.sass or ()) if one is not None]
        (major, minor), row = max(tops, key=lambda one: one[0], default=((0, 0), None))
        where = citation(row.source, f"every cuDNN for CUDA {cuda}") if row is not None else ""
        most = Version(major, minor, text=f"{major}.{minor}")
        matrix.derived[key] = EffectiveCode(sass=None, ptx=(), where=where, most=most) if row is not None else None
    found: EffectiveCode | None = matrix.derived[key]
    return found


def _is_forward_compatible(version: Version | None, cuda: int, matrix: Matrix) -> bool:
    since, cuda_since = matrix.bound("cudnn", "forward-compatible"), matrix.bound("cudnn", "forward-compatible-cuda")
    return since is None or cuda_since is None or ((version is None or version >= since) and cuda >= cuda_since.major)


def pinned_cudnn_code(row: FrameworkRelease, matrix: Matrix) -> EffectiveCode | None:
    """Return the code of the cuDNN that a release pins or was built with; None if unknown, or if it works without."""
    wanted = (one for one in parse_requirements(row.requires) if one.name.startswith("nvidia-cudnn-cu"))
    pinned = next(filter(None, (only_version(one.specifier) for one in wanted)), "")
    version, cuda = parse_version(pinned) or row.cudnn, row.built_with_cuda
    if cuda is None or optional_cudnn_module(row.distribution) or (version is None and framework_of(row.distribution) is None):
        return None
    exact = version is not None and version.text.count(".") >= 2  # an installer may take a later one than "9.1"
    found = matrix.cudnn(version, cuda.major, row.platform) if version is not None and exact else None
    return cudnn_code(version, cuda.major, found, matrix)


def fit_of_release(row: FrameworkRelease, capability: Version, matrix: Matrix) -> Fit:
    """Return how a release meets a GPU, given its known faults and its cuDNN: what cuDNN does not support cannot train."""
    fit = fit_with_faults(row, capability, matrix.faults(row.distribution, str(row.release), row.built_with_cuda))
    cudnn = None if fit in UNSUPPORTED_FITS else pinned_cudnn_code(row, matrix)
    of_cudnn = fit if cudnn is None else fit_of_code(cudnn, capability)
    return of_cudnn if of_cudnn in UNSUPPORTED_FITS else fit
