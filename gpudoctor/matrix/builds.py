"""The published CUDA builds of a framework for one platform, newest release first. Whether one works on a machine is for others to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any

import msgspec

from gpudoctor.frameworks import CudaPlugin, FrameworkSpec
from gpudoctor.matrix.lookup import Matrix
from gpudoctor.matrix.rows import FrameworkRelease
from gpudoctor.matrix.tables import TORCH_BUILDS
from gpudoctor.versions import Version

CPU_TAG = "cpu"
"""The local version of a build without CUDA."""
METAL_ACCELERATOR = "metal"
"""The accelerator of a build that uses the GPU of a Mac."""


class GpuBuild(msgspec.Struct, frozen=True):
    """A build of a release that uses the GPU, and how to ask an installer for it."""

    release: FrameworkRelease
    """The framework's own row: its number, Python versions and requirements."""
    code: FrameworkRelease
    """The row of the distribution that holds the GPU code of this build."""
    cuda: Version | None
    extra: str = ""
    """The extra that installs its CUDA half."""
    tag: str = ""
    """Its local version and its folder on the framework's index: cu126."""
    default: bool = True
    """Whether the package index has it, without a local version."""

    @property
    def version(self) -> str:
        """What to pin: 2.9.1, or 2.9.1+cu126 if the package index has another build."""
        return f"{self.number}{'' if self.default else f'+{self.tag}'}"

    @property
    def number(self) -> str:
        """The release without a local version."""
        return str(self.release.release)


def cuda_builds(
    matrix: Matrix, spec: FrameworkSpec, platform: str, order: Callable[[FrameworkRelease], Any] | None = None
) -> Iterator[GpuBuild]:
    """Yield the CUDA builds: newest release first, or by a key of releases, then the package index's own build, then the newest CUDA.

    Nothing for a framework whose builds the tables do not list.
    """
    rows = matrix.releases(spec.name, "" if spec.plugin else platform)[::-1]
    for row in sorted(rows, key=order) if order else rows:
        key = ("builds", platform, row.distribution, str(row.release), row.platform)
        if key not in matrix.derived:
            matrix.derived[key] = tuple(_builds_of_release(matrix, spec, platform, row))
        yield from matrix.derived[key]


class CachedIterator:
    """The items of an iterator, each computed once, when somebody first asks for it."""

    def __init__(self, source: Iterator[GpuBuild]) -> None:
        self._source = source
        self._seen: list[GpuBuild] = []

    def __iter__(self) -> Iterator[GpuBuild]:
        for place in count():
            if place == len(self._seen):  # another iteration may have come further
                self._seen += islice(self._source, 1)
            if place == len(self._seen):
                return
            yield self._seen[place]


def _builds_of_release(matrix: Matrix, spec: FrameworkSpec, platform: str, row: FrameworkRelease) -> Iterator[GpuBuild]:
    if spec.wheel_index:
        return _index_builds(matrix, spec, platform, row)
    if spec.plugin is not None:
        return _plugin_builds(matrix, spec.plugin, platform, row)
    return _extra_builds(spec, row)


def _index_builds(matrix: Matrix, spec: FrameworkSpec, platform: str, row: FrameworkRelease) -> Iterator[GpuBuild]:
    own = _default_tag(row) if row.accelerator == "cuda" else ""
    for tag in _build_tags(matrix, row, own, platform):
        code = row if tag == own else matrix.resolve(spec.name, f"{row.release}+{tag}", platform).row
        if code is not None and code.built_with_cuda is not None:
            yield GpuBuild(release=row, code=code, cuda=code.built_with_cuda, tag=tag, default=tag == own)


def _default_tag(row: FrameworkRelease) -> str:
    """Return the local version of the build on the default index."""
    cuda = row.built_with_cuda
    return f"cu{cuda.major}{cuda.minor}" if cuda is not None else ""


def _build_tags(matrix: Matrix, row: FrameworkRelease, own: str, platform: str) -> list[str]:
    """Return the CUDA builds of a release: the build of the default index, then the newest CUDA first."""
    tabled = {build.local for build in matrix.rows(TORCH_BUILDS, platform=platform) if build.release[:2] == row.release[:2]}
    official = {tag for tag in (*row.builds, *tabled) if tag.startswith("cu") and tag[2:].isdigit()}
    return [*filter(None, (own,)), *sorted(official - {own}, key=lambda tag: int(tag[2:]), reverse=True)]


def _extra_builds(spec: FrameworkSpec, row: FrameworkRelease) -> Iterator[GpuBuild]:
    if spec.gpu_extra and row.accelerator == "cuda" and _has_extra(row, spec.gpu_extra):
        yield GpuBuild(release=row, code=row, cuda=row.built_with_cuda, extra=spec.gpu_extra)


def _plugin_builds(matrix: Matrix, plugin: CudaPlugin, platform: str, row: FrameworkRelease) -> Iterator[GpuBuild]:
    for major in plugin.majors:
        extra, clients = f"{plugin.extra}{major}", matrix.releases(plugin.client_for(major), platform)
        same = [client for client in clients if client.release[:3] == row.release[:3]]  # a fourth number is the client's own
        if same and _has_extra(row, extra):
            code = next((client for client in same if client.release == row.release), same[-1])
            yield GpuBuild(release=row, code=code, cuda=code.built_with_cuda or Version(int(major), text=major), extra=extra)


def _has_extra(row: FrameworkRelease, extra: str) -> bool:
    return any(text.endswith(f'extra=="{extra}"') for text in row.requires)
