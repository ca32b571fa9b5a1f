"""Look-ups in the tables, each read on first use."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from gpudoctor.frameworks import framework_of, spec_of
from gpudoctor.matrix import gpu_names, gpu_slices, tables
from gpudoctor.matrix.machine_rows import Chip, DriverBranch, DriverFloor, DriverPackage, GpuProduct, Sxid, System, Xid
from gpudoctor.matrix.row_matching import MatchedRow, final_release, match_row
from gpudoctor.matrix.rows import (
    Bound,
    Companion,
    ContainerEngine,
    CpuNeed,
    CudaRelease,
    CudnnRelease,
    Fault,
    FrameworkRelease,
    GpuNeed,
    PythonSpan,
    RequirementSpan,
    Source,
)
from gpudoctor.matrix.table import Row, Table
from gpudoctor.versions import Version

Since = TypeVar("Since", ContainerEngine, CpuNeed, GpuNeed)
_FIRST_WITH_MINOR_COMPATIBILITY = 11
_CUBLAS_USERS = ("faiss-gpu",)
"""Distributions beside the frameworks that compute with cuBLAS: by the CUDA libraries that their wheels request."""
_BRANCH_WIDTH = 5
"""Windows drivers of branch 550 include 551.x and 552.x; branches since 2020 are at least this far apart."""


class TableReader(Protocol):
    """Returns the rows of a table, sorted by its key. Raises TableError for a wrong row."""

    def __call__(self, table: Table[Row], distribution: str = "", platform: str = "", release: str = "", /) -> tuple[Row, ...]:
        """The rows of `table`, or only those of a distribution, platform or release, which saves parsing the others."""
        ...


class Matrix:
    """The tables, read on demand and cached. None means "unknown", never "incompatible"."""

    def __init__(self, read_table: TableReader) -> None:
        self._read_table = read_table
        self._rows: dict[tuple[str, str, str, str], tuple[Any, ...]] = {}
        self._gpus: dict[str, GpuProduct] = {}
        self.derived: dict[tuple[object, ...], Any] = {}
        """What other modules compute from the tables alone, kept as long as the tables."""

    def rows(self, table: Table[Row], distribution: str = "", platform: str = "", release: str = "") -> tuple[Row, ...]:
        """All rows of a table, or those of one distribution, and of these the ones for one platform or any, or of one release as they spell it."""
        key = (table.name, distribution, platform, release)
        if key not in self._rows:
            rows = self._rows.get((table.name, distribution, "", ""))
            if rows is None:
                rows = self._read_table(table, distribution, platform, release)
            if release:
                rows = tuple(row for row in rows if str(row.release) == release)
            self._rows[key] = tuple(row for row in rows if row.platform in {platform, "any"}) if platform else rows
        return self._rows[key]

    @property
    def date(self) -> str:
        """The latest day on which a source was read, as an ISO date; "" without sources."""
        return max((source.read for source in self.rows(tables.SOURCE_TABLE)), default="")

    def source(self, identifier: str) -> Source | None:
        """The source with this id."""
        return next((source for source in self.rows(tables.SOURCE_TABLE) if source.id == identifier), None)

    def cuda(self, version: Version) -> CudaRelease | None:
        """The CUDA release, or the first of its minor version if this update or build number (12.4.127) is not in the table."""
        releases = [row for row in self.rows(tables.CUDA) if row.release[:2] == version[:2]]
        return next((row for row in releases if row.release == version), releases[0] if releases else None)

    def cudas(self, version: Version) -> tuple[CudaRelease, ...]:
        """The CUDA releases that a version may mean, oldest first: those of its minor version, or of its major if it has no more."""
        said = 2 if "." in str(version) else 1
        return tuple(row for row in self.rows(tables.CUDA) if row.release[:said] == version[:said])

    def toolkit_for(self, target: str) -> CudaRelease | None:
        """The oldest CUDA release whose compiler supports this architecture ("sm_121")."""
        return next((row for row in self.rows(tables.CUDA) if target in (row.sass or ())), None)

    def driver_floor(self, cuda: Version, os: str = "linux") -> DriverFloor | None:
        """The oldest drivers for programs built with `cuda`, on "linux" or "windows".

        If no source states a driver for an update, that of the previous release in its minor version; for a CUDA version outside the tables,
        the floor shared by its major version; None if unknown.
        """
        release = self._stated(cuda, os)
        shared = [row for row in self.rows(tables.CUDA) if row.release.major == cuda.major >= _FIRST_WITH_MINOR_COMPATIBILITY]
        row = release or (shared[-1] if shared else None)
        if row is None or os not in {"linux", "windows"}:
            return None
        exact, minor = (row.driver_linux, row.minor_driver_linux) if os == "linux" else (row.driver_windows, row.minor_driver_windows)
        floor = DriverFloor(cuda=cuda, os=os, exact=exact if release else None, minor_version_floor=minor, source=row.source)
        return None if floor.exact is None and minor is None else floor

    def _stated(self, cuda: Version, os: str) -> CudaRelease | None:
        """The row of this CUDA release; if no driver is stated for it, the previous one in its minor version that has one."""
        found = self.cuda(cuda)
        before = [row for row in self.rows(tables.CUDA) if found and row.release[:2] == cuda[:2] and row.release <= found.release]
        stated = (row for row in reversed(before) if (row.driver_windows if os == "windows" else row.driver_linux) is not None)
        return next(stated, found)

    def driver(self, version: Version) -> DriverBranch | None:
        """The branch of this driver."""
        below = [row for row in self.rows(tables.DRIVERS) if row.branch <= version.major]
        return below[-1] if below and version.major - below[-1].branch < _BRANCH_WIDTH else None

    def branches_around(self, version: Version) -> tuple[DriverBranch | None, DriverBranch | None]:
        """The last listed branch before a driver that no listed branch includes, and the first one after it."""
        rows = self.rows(tables.DRIVERS)
        before, after = ([row for row in rows if (row.branch <= version.major) is earlier] for earlier in (True, False))
        return (before[-1] if before else None), (after[0] if after else None)

    def deciding_branch(self, version: Version, capability: Version) -> DriverBranch | None:
        """The branch that shows whether a driver supports GPUs of this compute capability: its own, or for one that no branch includes a neighbour.

        No branch supports again what an earlier one dropped. None if the neighbours leave it open, as for a driver newer than all of them.
        """
        own = self.driver(version)
        if own is not None:
            return own
        before, after = self.branches_around(version)
        if before is not None and before.oldest_capability is not None and capability < before.oldest_capability:
            return before
        if before is None or after is None or after.oldest_capability is None:
            return None
        bounded = before.newest_capability is not None and not self.predates(before, capability)
        known = bounded or self.predates(after, capability)
        return after if known and capability >= after.oldest_capability else None

    def predates(self, branch: DriverBranch, capability: Version) -> bool:
        """Whether a driver branch is older than GPUs of this compute capability; False if the tables do not bound the branch.

        Within its bounds the branch's own CUDA decides: 12.8 compiles for 10.0 and 12.0, but not for 10.3, which came later.
        """
        if branch.newest_capability is None or capability > branch.newest_capability:
            return branch.newest_capability is not None
        served = self.cuda(branch.cuda_served) if branch.cuda_served is not None else None
        targets = served.sass if served is not None and served.sass else ()
        number = 10 * capability.major + capability.minor
        return bool(targets) and f"sm_{number}" not in targets and number > min(int(target[3:].rstrip("af")) for target in targets)

    def newest_driver(self, branch: int, os: str = "linux") -> Version | None:
        """The newest release of a driver branch that the tables name, for "linux" or "windows": of a package, or as the floor of a CUDA release."""
        floors = (row.driver_windows if os == "windows" else row.driver_linux for row in self.rows(tables.CUDA))
        packages = (row.version for row in self.rows(tables.DRIVER_PACKAGES) if os == "linux")
        return max((floor for floor in (*floors, *packages) if floor is not None and floor.major == branch), default=None)

    def driver_packages(self, system: str) -> tuple[DriverPackage, ...]:
        """The packages that install the driver on a release of a distribution ("debian-12"), oldest driver first, NVIDIA's own last."""
        rows = (row for row in self.rows(tables.DRIVER_PACKAGES) if row.system == system)
        return tuple(sorted(rows, key=lambda row: (row.origin == "nvidia", row.version or Version(0))))

    def cudnn(self, version: Version, cuda: int, platform: str) -> CudnnRelease | None:
        """The cuDNN of this version for a major version of CUDA and a platform ("linux_aarch64"); None if the platform is unknown.

        For a version of one or two numbers, the newest that begins with them; for a longer one the same build, or another build with the same
        first three numbers, which is all that cuDNN reports about itself.
        """
        said = min(version.text.count(".") + 1, 3) if version.text else 3
        fitting = [row for row in self.cudnns(cuda, platform) if row.release[:said] == version[:said]]
        return next((row for row in fitting if row.release == version), fitting[-1] if fitting else None)

    def cudnn_of_any_platform(self, version: Version, cuda: int) -> CudnnRelease | None:
        """The cuDNN of this version for a major version of CUDA, if its wheels for all platforms contain the same GPU code."""
        platforms = dict.fromkeys(row.platform for row in self.rows(tables.CUDNN) if row.cuda == cuda)
        found = [row for row in (self.cudnn(version, cuda, platform) for platform in platforms) if row is not None]
        return found[0] if len({(row.sass, row.ptx) for row in found}) == 1 else None

    def cudnns(self, cuda: int, platform: str) -> tuple[CudnnRelease, ...]:
        """The cuDNN releases for a major version of CUDA and a platform, oldest first."""
        return tuple(row for row in self.rows(tables.CUDNN, platform=platform) if row.cuda == cuda and row.platform == platform)

    def branches_for(self, capability: Version) -> tuple[int | None, int | None]:
        """The oldest and the newest branch known to support this compute capability; None if no row states it."""
        bounded = [row for row in self.rows(tables.DRIVERS) if row.newest_capability is not None]
        young = [row.branch for row in bounded if not self.predates(row, capability)]
        old = [row.branch for row in self.rows(tables.DRIVERS) if row.oldest_capability is not None and row.oldest_capability <= capability]
        return min(young, default=None), max(old, default=None)

    def resolve(self, distribution: str, version: str, platform: str = "linux_x86_64") -> MatchedRow:
        """The row that applies to this version of a framework's distribution."""
        name = distribution.casefold().replace("_", "-")
        builds = self.rows(tables.TORCH_BUILDS, platform=platform) if spec_of(name).wheel_index and "+" in version else ()
        same = tuple(row for row in self.of_release(name, version) if not platform or row.platform in {platform, "any"})
        return match_row(same or self.releases(name, platform), version, builds)

    def releases(self, distribution: str, platform: str = "", pinned: str = "") -> tuple[FrameworkRelease, ...]:
        """The rows of a distribution, by its normalised name, oldest release first; only those of `platform` if given.

        Without those that were withdrawn from the package index, except one that is `pinned`: an installer takes no other. Pure Python wheels
        have one row with platform "any".
        """
        if not distribution:
            return ()
        rows, withdrawn = (
            self.rows(tables.TABLE_OF.get(distribution, tables.OTHER_RELEASES), distribution, platform),
            self._withdrawn(distribution),
        )
        if not withdrawn or pinned in withdrawn:
            return rows
        key = ("not withdrawn", distribution, platform)
        if key not in self.derived:
            self.derived[key] = tuple(row for row in rows if str(row.release) not in withdrawn)
        found: tuple[FrameworkRelease, ...] = self.derived[key]
        return found

    def withdrawn(self, distribution: str, version: str) -> bool:
        """Whether this release was withdrawn from the package index (yanked)."""
        return "+" not in version and version in self._withdrawn(distribution)

    def _withdrawn(self, distribution: str) -> frozenset[str]:
        if ("withdrawn",) not in self.derived:
            self.derived["withdrawn",] = {row.distribution: frozenset(row.releases) for row in self.rows(tables.YANKED)}
        found: dict[str, frozenset[str]] = self.derived["withdrawn",]
        return found.get(distribution, frozenset())

    def of_release(self, distribution: str, version: str) -> tuple[FrameworkRelease, ...]:
        """The rows of a release, for each platform, found by its spelling: no other row of the distribution is parsed."""
        table, release = tables.TABLE_OF.get(distribution, tables.OTHER_RELEASES), version.strip().partition("+")[0]
        return self.rows(table, distribution, release=release) if distribution and release else ()

    def faults(self, distribution: str, version: str, cuda: Version | None = None) -> tuple[Fault, ...]:
        """Known defects of this release, by its exact number, and of nightlies between two that have them; vendors' and other official builds have their own.

        With the CUDA that it is built for, also those of that CUDA's libraries.
        """
        computes = cuda is not None and (framework_of(distribution) is not None or distribution in _CUBLAS_USERS)
        of_cuda = self._faults("cuda", cuda.short) if cuda is not None and computes else ()
        return (*self._faults(distribution, version), *of_cuda)

    def _faults(self, distribution: str, version: str) -> tuple[Fault, ...]:
        public, _, date = version.partition(".dev")
        release = final_release(public)
        if release is None:
            return ()
        return tuple(
            row
            for row in self.rows(tables.FAULTS, distribution)
            if row.first <= release <= row.last and not (date and row.first == release)
        )

    def needed_companions(self, distribution: str, version: str) -> tuple[Companion, ...]:
        """What this release needs beside a framework and does not require."""
        release = final_release(version.partition("+")[0])
        return (
            ()
            if release is None
            else tuple(row for row in self.rows(tables.NEEDED_COMPANIONS, distribution) if row.first <= release <= row.last)
        )

    def gpu(self, name: str) -> GpuProduct | None:
        """The GPU of this name, as NVML or people call it ("NVIDIA A100-SXM4-80GB", "a100 80gb", "4090").

        A MIG instance or a vGPU is its physical GPU with its own memory and without rates.
        """
        return gpu_names.find_product(name, self._gpu_index()) or gpu_slices.find_slice(name, self._gpu_index())

    def slice_problem(self, name: str) -> str:
        """Why no GPU has the MIG instance of this name, a sentence; "" if one has it or that is unknown."""
        return gpu_slices.slice_problem(name, self._gpu_index())

    def gpu_of_cut_name(self, name: str) -> GpuProduct | None:
        """One of the GPUs whose names begin with a name that was cut ("Tesla V100-SXM2..."), if they share a compute capability."""
        return gpu_names.product_of_cut_name(name, self._gpu_index())

    def gpu_family(self, name: str) -> tuple[GpuProduct, ...]:
        """The GPUs whose names begin with these words ("A800", "RTX 4050") if they share a compute capability; otherwise none."""
        return gpu_names.product_family(name, self._gpu_index())

    def chip(self, device: str) -> Chip | None:
        """The generation of an NVIDIA GPU, by its PCI device id of four hexadecimal digits."""
        number = int(device, 16)
        return next((row for row in self.rows(tables.CHIPS) if row.first <= number <= row.last), None)

    def xid(self, code: int) -> Xid | None:
        """The meaning of an Xid."""
        return next((row for row in self.rows(tables.XIDS) if row.code == code), None)

    def sxid(self, code: int) -> Sxid | None:
        """The meaning of an NVSwitch's SXid."""
        return next((row for row in self.rows(tables.SXIDS) if row.code == code), None)

    def engine(self, name: str, version: Version) -> ContainerEngine | None:
        """What this release of a container engine ("podman", "docker", "containerd") supports; None before the first known one."""
        return self._last(tables.ENGINES, name, version)

    def cpu_need(self, distribution: str, version: Version) -> CpuNeed | None:
        """What this release of a distribution requires of an x86_64 processor; None if no row states it."""
        return self._last(tables.CPU_NEEDS, distribution, version)

    def gpu_need(self, distribution: str, version: Version) -> GpuNeed | None:
        """What this release of a distribution requires of a GPU by its own statement; None if no row states it."""
        return self._last(tables.GPU_NEEDS, distribution, version)

    def _last(self, table: Table[Since], name: str, version: Version) -> Since | None:
        """The last row about something that holds for a version: rows say from which release on."""
        return max((row for row in self.rows(table, name) if row.release <= version), key=lambda row: row.release, default=None)

    def lists(self, distribution: str) -> bool:
        """Whether a table has a distribution's releases, or that it holds no GPU code of its own."""
        return bool(self.releases(distribution)) or self.without_gpu_code(distribution)

    def without_gpu_code(self, distribution: str) -> bool:
        """Whether a distribution is known to hold no GPU code of its own."""
        return bool(self.rows(tables.NO_GPU_CODE, distribution))

    def pythons(self, distribution: str) -> dict[str, PythonSpan]:
        """Which releases of a distribution without rows of its own have wheels, by Python version; {} if no table says so."""
        return {row.python.text: row for row in self.rows(tables.PYTHONS, distribution)}

    def tags(self, distribution: str, platform: str, release: Version) -> tuple[str, ...]:
        """The tags of a release's wheels for a Linux platform, as an installed wheel names them ("manylinux_2_28_x86_64"); () if unknown."""
        rows = [row for row in self.rows(tables.WHEEL_TAGS, distribution) if row.platform == platform and row.release <= release]
        machine = platform.removeprefix("linux_")
        return tuple(f"{tag}_{machine}" for tag in rows[-1].tags) if rows else ()

    def all_tags(self, distribution: str, platform: str) -> tuple[str, ...]:
        """The tags of every release's wheels for a Linux platform."""
        rows = [row for row in self.rows(tables.WHEEL_TAGS, distribution) if row.platform == platform]
        return tuple(dict.fromkeys(tag for row in rows for tag in row.tags))

    def system(self, name: str) -> System | None:
        """The Linux distribution that os-release or an image's tag calls so: "ubuntu-22.04", "jammy", "rockylinux9.3", "alpine3.20"."""
        spelt = (name, name.rpartition(".")[0], name.rstrip(".0123456789"))
        rows = {called: row for row in self.rows(tables.SYSTEMS) for called in (row.system, row.system.replace("-", ""), *row.names)}
        return next((rows[one] for one in spelt if one in rows), None)

    def other_requirements(self, distribution: str, release: Version) -> tuple[RequirementSpan, ...]:
        """What a release in the tables requires of packages that its row leaves out."""
        key = (tables.REQUIREMENTS.name, distribution, release)
        if key not in self.derived:  # a plan asks for the same few hundred times
            self.derived[key] = tuple(row for row in self.rows(tables.REQUIREMENTS, distribution) if row.first <= release <= row.last)
        found: tuple[RequirementSpan, ...] = self.derived[key]
        return found

    def bound(self, package: str, bound: str) -> Version | None:
        """The version from which on a package does what `bound` names ("compares-plugins"); None if no row states it."""
        row = self.bound_row(package, bound)
        return row.version if row is not None else None

    def bound_row(self, package: str, bound: str) -> Bound | None:
        """The same with its source."""
        return next((row for row in self.rows(tables.BOUNDS, package) if row.bound == bound), None)

    def similar_gpu_names(self, name: str) -> tuple[str, ...]:
        """Up to four GPU names similar to an unknown one, nearest first."""
        return gpu_names.similar_names(name, self._gpu_index())

    def _gpu_index(self) -> dict[str, GpuProduct]:
        if not self._gpus:
            self._gpus = gpu_names.products_by_key(self.rows(tables.GPUS))
        return self._gpus
