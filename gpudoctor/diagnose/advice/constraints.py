"""The constraints of this machine on a release: Python, driver and GPUs."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Driver, MachineView, wheel_platform
from gpudoctor.derive.cudnn_code import fit_of_release
from gpudoctor.derive.gpu_code import Fit
from gpudoctor.derive.nearness import nearness_order
from gpudoctor.derive.packages import minor_version
from gpudoctor.derive.specifiers import only_version, parse_requirements, satisfies
from gpudoctor.derive.wheel_tags import is_accepted, newest_glibc
from gpudoctor.frameworks import FrameworkSpec
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.builds import CachedIterator, GpuBuild, cuda_builds
from gpudoctor.snapshot import Missing, Snapshot
from gpudoctor.versions import Version


class Constraints(msgspec.Struct, frozen=True):
    """What a release must work with."""

    machine: MachineView
    platform: str
    pythons: tuple[str, ...]
    """A wheel for one of these Python versions is enough; () for any."""
    capabilities: tuple[Version, ...]
    accepts: str
    """The accepted versions, as a PEP 440 specifier."""
    driver: Driver | None = None
    """None if there is none, or for any driver."""
    libc: str = ""
    """The C library, "glibc 2.36"; empty if unknown."""
    accepts_ptx: bool = False
    """Whether PTX that the driver can compile for a GPU is enough."""

    def is_installable(self, row: FrameworkRelease) -> bool:
        """Return whether a release is accepted and has a wheel for this Python and C library."""
        wheel = not self.pythons or any(wheel_platform.has_wheel(row, python) for python in self.pythons)
        return wheel and self.loads(row) and satisfies(str(row.release), self.accepts) is not False

    def loads(self, row: FrameworkRelease, *, of_index: bool = True) -> bool:
        """Return whether the C library is new enough for a release; for a build that the index lacks, new enough for every release."""
        matrix = self.machine.matrix
        if of_index or not self.libc:
            return not self.libc or is_accepted(matrix.tags(row.distribution, self.platform, row.release), self.libc)
        newest = newest_glibc(matrix.all_tags(row.distribution, self.platform))
        return newest is None or is_accepted((f"manylinux_{newest.major}_{newest.minor}",), self.libc)

    def releases(self, distribution: str) -> Iterator[FrameworkRelease]:
        """Return the installable releases of a distribution, newest first."""
        rows = self.machine.matrix.releases(distribution, self.platform)
        return (row for row in reversed(rows) if self.is_installable(row))

    def pinned(self, row: FrameworkRelease, extra: str = "") -> Iterator[FrameworkRelease]:
        """Yield the rows of the exact releases that a release requires, on every machine or with an extra."""
        markers = {"", f'extra=="{extra}"'}
        for wanted in parse_requirements(row.requires):
            pin = only_version(wanted.specifier)
            if pin is not None and wanted.marker in markers:
                found = self.machine.matrix.resolve(wanted.name, pin, self.platform).row
                if found is not None:
                    yield found

    def builds(self, spec: FrameworkSpec, near: str = "") -> Iterator[GpuBuild]:
        """Yield a framework's CUDA builds that run with this driver on every GPU, nearest to a release first, whatever Python they are for."""
        derived, key = self.machine.matrix.derived, ("builds that run", spec.name, *self.hardware)
        known = derived.setdefault(key, {})
        ordered = (*key, near)
        if ordered not in derived:
            every = cuda_builds(self.machine.matrix, spec, self.platform, lambda row: nearness_order(str(row.release), near))
            derived[ordered] = CachedIterator(build for build in every if self._runs(build, known))
        return iter(derived[ordered])

    def _runs(self, build: GpuBuild, known: dict[tuple[str, str, str], bool]) -> bool:
        name = (build.number, build.tag, build.extra)
        if name not in known:
            known[name] = self.is_cuda_supported(build.cuda) and self.has_kernels_for_gpus(build.code)
        return known[name]

    @property
    def hardware(self) -> tuple[object, ...]:
        """What decides whether a build runs."""
        return self.platform, self.capabilities, self.driver, self.machine.site.on_wsl, self.accepts_ptx

    def is_cuda_supported(self, cuda: Version | None) -> bool:
        """Return whether the driver, if there is one, supports this CUDA version."""
        driver = self.driver
        if cuda is None or driver is None:
            return True
        if self.machine.site.on_wsl or driver.forward:
            return isinstance(driver.cuda_served, Missing) or driver.cuda_served.major >= cuda.major
        floor = self.machine.matrix.driver_floor(cuda, "windows" if self.platform.startswith("win") else "linux")
        least = floor.least if floor is not None else None
        return least is None or driver.version >= least

    @property
    def driver_supports_gpus(self) -> bool:
        """Return whether the driver, if there is one, supports every GPU."""
        if self.driver is None or self.machine.site.on_wsl:
            return True
        row = self.machine.matrix.driver(self.driver.version)
        branch = row.branch if row is not None else self.driver.version.major
        bounds = [self.machine.matrix.branches_for(gpu) for gpu in self.capabilities]
        return all((first is None or branch >= first) and (last is None or branch <= last) for first, last in bounds)

    def has_kernels_for_gpus(self, row: FrameworkRelease) -> bool:
        """Return whether a release, and the cuDNN that it pins if known, have kernels for every GPU."""
        fits = {fit_of_release(row, gpu, self.machine.matrix) for gpu in self.capabilities}
        return fits <= {Fit.NATIVE, Fit.PTX} and (
            Fit.PTX not in fits or (self.accepts_ptx and self._can_driver_compile(row.built_with_cuda))
        )

    def _can_driver_compile(self, cuda: Version | None) -> bool:
        """Return whether the driver, if there is one, is known to compile the PTX of this CUDA version."""
        if self.driver is None:
            return True
        served = self.driver.cuda_served
        return cuda is not None and isinstance(served, Version) and served[:2] >= cuda[:2]


def constraints(machine: MachineView, accepts: str = "") -> Constraints:
    """Return what a release must work with on this machine."""
    snapshot, driver = machine.observed, machine.driver_or_missing
    libc = "" if isinstance(snapshot.python, Missing) else snapshot.python.libc
    capabilities = (gpu.capability_or_missing for gpu in machine.gpus if gpu.usable)
    return Constraints(
        machine=machine,
        platform=wheel_platform.platform_name(snapshot.host, snapshot.python) or wheel_platform.LINUX_X86_64,
        pythons=_allowed_pythons(snapshot),
        capabilities=tuple(dict.fromkeys(capability for capability in capabilities if isinstance(capability, Version))),
        accepts=accepts,
        driver=driver if isinstance(driver, Driver) else None,
        libc=libc if isinstance(libc, str) else "",
    )


def _allowed_pythons(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the Python of the environment, or those that files allow for it."""
    python = minor_version(snapshot.python)
    allowed = None if isinstance(snapshot.packages, Missing) else snapshot.packages.pythons
    return (python,) if python else allowed.versions if allowed is not None else ()
