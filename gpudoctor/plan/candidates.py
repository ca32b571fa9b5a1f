"""The releases that could be planned for a requirement, newest first, from the tables."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive.cuda import STUB_ACCELERATOR
from gpudoctor.derive.specifiers import Requirement, only_version, satisfies
from gpudoctor.frameworks import FrameworkSpec, framework_of, spec_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.builds import CPU_TAG, METAL_ACCELERATOR, GpuBuild, cuda_builds
from gpudoctor.plan import extras
from gpudoctor.snapshot.distributions import name_with_extras
from gpudoctor.versions import Version


class Candidate(msgspec.Struct, frozen=True):
    """One build of one release, and how to ask an installer for it."""

    name: str
    release: str
    """Without a local version."""
    extras: tuple[str, ...] = ()
    tag: str = ""
    """The folder of the framework's own index that holds it; empty for the default index."""
    cuda: Version | None = None
    pythons: tuple[str, ...] = ()
    """Empty: any."""
    requires: tuple[str, ...] = ()
    active: tuple[str, ...] = ()
    """The extras, and those that they include."""
    metal: bool = False
    """Whether it uses the GPU of a Mac by itself."""
    system: str = ""
    """What it needs that no installer of Python packages provides: CUDA 11.2 and cuDNN 8.1."""

    @property
    def version(self) -> str:
        """What to pin."""
        return f"{self.release}+{self.tag}" if self.tag else self.release

    @property
    def requirement(self) -> str:
        """The pinned requirement: 'tensorflow[and-cuda]==2.20.0'."""
        return f"{name_with_extras(self.name, self.extras)}=={self.version}"

    @property
    def label(self) -> str:
        """Name and release: "torch 2.9.1"."""
        return f"{self.name} {self.release}"


def candidates(matrix: Matrix, wanted: Requirement, platform: str, *, gpu: bool) -> Iterator[Candidate]:
    """Yield what the tables list for a requirement: on a machine with a GPU, CUDA builds of a framework."""
    if not platform:  # no wheels are published for it
        return iter(())
    spec = spec_of(framework_of(wanted.name) or "")
    if spec.name != wanted.name or not spec.tabled:
        return _package_candidates(matrix, wanted, platform, gpu=gpu)
    if gpu and _leaves_cuda_open(wanted, spec):
        return _cuda_candidates(matrix, spec, wanted, platform)
    found = _cpu_candidates(matrix, spec, wanted, platform)
    return (candidate for candidate in found if not gpu or _has_cuda_extras(candidate)) if wanted.extras else found


def _leaves_cuda_open(wanted: Requirement, spec: FrameworkSpec) -> bool:
    """Return whether the user named no extra that installs CUDA in another way, such as cuda12-local, and no build for the CPU."""
    ours = {spec.gpu_extra} if spec.plugin is None else {f"{spec.plugin.extra}{major}" for major in spec.plugin.majors}
    return f"+{CPU_TAG}" not in wanted.specifier and all(extra in ours or "cuda" not in extra for extra in wanted.extras)


def _cuda_candidates(matrix: Matrix, spec: FrameworkSpec, wanted: Requirement, platform: str) -> Iterator[Candidate]:
    for build in cuda_builds(matrix, spec, platform):
        local = f"{build.number}+{build.tag}" if build.tag else build.number
        if satisfies(local, wanted.specifier) is not True or not _has_asked_extra(build, wanted, spec):
            continue
        explicit = not build.default or "+" in wanted.specifier
        yield Candidate(
            name=spec.name,
            release=build.number,
            extras=tuple(dict.fromkeys((*wanted.extras, *filter(None, (build.extra,))))),
            tag=build.tag if explicit else "",
            cuda=build.cuda,
            pythons=_pythons_with_wheels(matrix, spec, build.release, platform),
            requires=build.release.requires,
        )
    if spec.gpu_extra:
        yield from _system_cuda_candidates(matrix, spec, wanted, platform)


def _system_cuda_candidates(matrix: Matrix, spec: FrameworkSpec, wanted: Requirement, platform: str) -> Iterator[Candidate]:
    """Yield the CUDA builds from before the extra that installs CUDA."""
    for row, release in _matching_releases(matrix, wanted, platform):
        if (
            row.accelerator == "cuda"
            and row.built_with_cuda is not None
            and not any(f'extra=="{spec.gpu_extra}"' in text for text in row.requires)
        ):
            parts = (f"CUDA {row.built_with_cuda.short}", f"cuDNN {row.cudnn}" if row.cudnn else "")
            yield msgspec.structs.replace(release, system=" and ".join(filter(None, parts)))


def _pythons_with_wheels(matrix: Matrix, spec: FrameworkSpec, row: FrameworkRelease, platform: str) -> tuple[str, ...]:
    """Return the Python versions that have wheels of a release and, if it is pure Python, of its compiled library."""
    library = matrix.resolve(spec.plugin.library, str(row.release), platform).row if spec.plugin else None
    return row.pythons if library is None or not library.pythons else tuple(python for python in row.pythons if python in library.pythons)


def _has_asked_extra(build: GpuBuild, wanted: Requirement, spec: FrameworkSpec) -> bool:
    """Return whether a build is of the CUDA version that the user chose by an extra, if any."""
    if spec.plugin is None:
        return True
    asked = {extra for extra in wanted.extras if extra.startswith(spec.plugin.extra)}
    return not asked or build.extra in asked


def _cpu_candidates(matrix: Matrix, spec: FrameworkSpec, wanted: Requirement, platform: str) -> Iterator[Candidate]:
    """Yield releases for a machine without a GPU: the build without CUDA, if the framework's own index has one."""
    for row, release in _matching_releases(matrix, wanted, platform):
        tag = CPU_TAG if spec.wheel_index and row.accelerator == "cuda" else ""
        yield msgspec.structs.replace(release, cuda=None, tag=tag, pythons=_pythons_with_wheels(matrix, spec, row, platform))


def _package_candidates(matrix: Matrix, wanted: Requirement, platform: str, *, gpu: bool) -> Iterator[Candidate]:
    """Yield the releases of a package, with the extras that it needs unless the user names some."""
    rows = matrix.releases(wanted.name, platform)
    frameworks = extras.required_frameworks(rows) if rows and not framework_of(wanted.name) else ()
    for row, release in _matching_releases(matrix, wanted, platform):
        named = release.extras or extras.needed_extras(row, frameworks, gpu=gpu)
        yield msgspec.structs.replace(release, extras=named, active=extras.with_included_extras(row, named))


def _matching_releases(matrix: Matrix, wanted: Requirement, platform: str) -> Iterator[tuple[FrameworkRelease, Candidate]]:
    """Yield the releases of a package on the default index, each with its row."""
    for row in reversed(matrix.releases(wanted.name, platform, only_version(wanted.specifier) or "")):
        if row.accelerator != STUB_ACCELERATOR and satisfies(_public_version(row, wanted), wanted.specifier) is True:
            candidate = Candidate(
                name=wanted.name,
                release=str(row.release),
                extras=wanted.extras,
                pythons=row.pythons,
                requires=row.requires,
                cuda=row.built_with_cuda,
                metal=row.accelerator == METAL_ACCELERATOR,
            )
            yield row, candidate


def _has_cuda_extras(candidate: Candidate) -> bool:
    """Return whether a release has the extras that the user named to choose how CUDA is installed."""
    return all(any(f'extra=="{extra}"' in text for text in candidate.requires) for extra in candidate.extras if "cuda" in extra)


def _public_version(row: FrameworkRelease, wanted: Requirement) -> str:
    return f"{row.release}+{CPU_TAG}" if f"+{CPU_TAG}" in wanted.specifier else str(row.release)
