"""What the tables know to support a GPU: driver branches, and the published wheels that have kernels for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Annotated

import msgspec

from gpudoctor.derive.cudnn_code import fit_of_release
from gpudoctor.derive.gpu_code import Fit, fit_of_code
from gpudoctor.frameworks import CATALOGUE, FrameworkSpec
from gpudoctor.matrix import GpuProduct, Matrix
from gpudoctor.matrix.rows import TorchBuild
from gpudoctor.matrix.tables import DRIVERS, RELEASE_TABLES, TORCH_BUILDS
from gpudoctor.schema_fields import means
from gpudoctor.versions import Version

WHEEL_PLATFORM = "linux_x86_64"
KERNELS, PTX, NONE, UNKNOWN = "kernels", "ptx", "none", "unknown"
_CODE_BY_FIT = {Fit.NATIVE: KERNELS, Fit.PTX: PTX, Fit.TOO_OLD: NONE, Fit.TOO_NEW: NONE, Fit.UNKNOWN: UNKNOWN}


class Releases(msgspec.Struct, frozen=True):
    """Consecutive releases of a distribution with the same support for a GPU."""

    distribution: Annotated[str, means("The distribution, as pip names it.")]
    build: Annotated[str, means('A local version ("cu126"); empty for the wheels of the package index.')]
    releases: Annotated[tuple[str, ...], means("The releases, oldest first.")]
    code: Annotated[
        str, means("What they have for the GPU: kernels (machine code), ptx (the driver compiles it at first start), none or unknown.")
    ]


class GpuSupport(msgspec.Struct, frozen=True):
    """The driver branches and wheels for GPUs of one compute capability."""

    oldest_driver: Annotated[int | None, means("The first branch known to support it; null if the tables do not say.")]
    newest_driver: Annotated[int | None, means("The last branch known to support it; null if the tables do not say.")]
    dropped: Annotated[bool, means("Whether newer branches than newest_driver exist and do not support it.")]
    platform: Annotated[str, means("The platform of the wheels.")]
    wheels: Annotated[tuple[Releases, ...], means("Empty for a Jetson, which needs NVIDIA's own builds.")]
    source: Annotated[tuple[str, ...], means("Ids of the sources.")]
    suitability: Annotated[str, means("What the GPU is enough for, in a phrase; empty if its memory is not known.")] = ""


def support_for_product(product: GpuProduct, matrix: Matrix, suitability: str) -> GpuSupport:
    """Return what supports a GPU, by its compute capability."""
    oldest, newest = matrix.branches_for(product.compute_capability)
    branches = matrix.rows(DRIVERS)
    sources = {source: None for row in branches if row.branch in {oldest, newest} for source in row.source}
    wheels = [] if product.kind == "jetson" else list(_wheel_ranges(product.compute_capability, matrix, sources))
    dropped = newest is not None and newest < branches[-1].branch
    return GpuSupport(oldest, newest, dropped, WHEEL_PLATFORM, tuple(wheels), tuple(sources), suitability)


def _wheel_ranges(capability: Version, matrix: Matrix, sources: dict[str, None]) -> Iterator[Releases]:
    """Yield the releases of each framework; what names their code is added to `sources`."""
    for spec in CATALOGUE:
        for distribution in _code_distributions(spec):
            rows = [row for row in matrix.releases(distribution, WHEEL_PLATFORM) if row.accelerator == "cuda"]
            if any(row.sass is not None for row in rows):
                sources.update(dict.fromkeys(source for row in rows for source in row.source))
                yield from _release_ranges(distribution, "", ((str(row.release), fit_of_release(row, capability, matrix)) for row in rows))
        if spec.wheel_index:
            yield from _build_ranges(spec.distributions[0], capability, matrix, sources)


def _code_distributions(spec: FrameworkSpec) -> tuple[str, ...]:
    """Return the distributions that hold a framework's GPU code: itself or, for one with a plugin, the plugin's client."""
    if spec.name not in RELEASE_TABLES:
        return ()
    return tuple(spec.plugin.client_for(major) for major in spec.plugin.majors) if spec.plugin else spec.distributions


def _build_ranges(distribution: str, capability: Version, matrix: Matrix, sources: dict[str, None]) -> Iterator[Releases]:
    """Yield the releases of each official build that the index does not have."""
    rows = [row for row in matrix.rows(TORCH_BUILDS) if row.platform == WHEEL_PLATFORM]
    sources.update(dict.fromkeys(source for row in rows for source in row.source))
    for local in sorted({row.local for row in rows}):
        yield from _release_ranges(
            distribution,
            local,
            ((str(row.release), _fit_of_build(distribution, row, capability, matrix)) for row in rows if row.local == local),
        )


def _fit_of_build(distribution: str, build: TorchBuild, capability: Version, matrix: Matrix) -> Fit:
    row = matrix.resolve(distribution, f"{build.release}+{build.local}", build.platform).row
    return fit_of_code(build, capability) if row is None else fit_of_release(row, capability, matrix)


def _release_ranges(distribution: str, build: str, fits: Iterable[tuple[str, Fit]]) -> Iterator[Releases]:
    for code, group in groupby(fits, key=lambda pair: _CODE_BY_FIT[pair[1]]):
        yield Releases(distribution, build, tuple(release for release, _ in group), code)
