"""The CUDA version that a framework runs with, and the driver it needs: from the wheel's own files, then the matrix."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive import wheel_platform
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.site import Site
from gpudoctor.frameworks import spec_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import NOT_ASKED, Cause, Distribution, Fact, Framework, Host, Missing, Packages, Platform, Python
from gpudoctor.versions import Version


class EffectiveCuda(msgspec.Struct, frozen=True, kw_only=True):
    """The CUDA version of a framework's build, and the oldest drivers for it."""

    version: Version
    where: str
    cudnn: Version | Missing
    cudnn_where: str = ""
    floor: Version | Missing
    """The oldest driver that runs it: under minor-version compatibility if CUDA has that, otherwise the exact one."""
    exact_floor: Version | Missing
    """The oldest driver that supports all of it, including PTX."""
    floor_where: str = ""
    assumed: bool = False
    """No source states the build: it is taken to be that of the package index, and the release has others."""
    disagreement: str = ""
    """What another source says, if it differs."""


ACCELERATORS_WITHOUT_CUDA = ("cpu", "metal")
"""The matrix's word for builds that use no NVIDIA GPU."""
STUB_ACCELERATOR = "stub"
"""The matrix's word for releases that only refuse to be installed."""
_UNKNOWN_FLOOR = Missing(Cause.NOT_STATED, "the compatibility matrix has no driver floor for this CUDA")


def _release_row(one: Fact | Missing, name: str, python: Python | Missing, matrix: Matrix, host: Host | Missing) -> FrameworkRelease | None:
    """The matrix's row of this release for this platform; if that is unknown, for Linux on x86_64."""
    if not isinstance(one, Fact):
        return None
    wheels = wheel_platform.platform_name(host, python) or wheel_platform.LINUX_X86_64
    return matrix.resolve(name, one.value, wheels).row


def _framework_with_plugin(framework: Framework, packages: Packages | Missing) -> tuple[Framework, Fact | Missing, str]:
    """A framework with its plugin's CUDA if only packages are named: the plugin itself, or the extra that installs it ("cuda12").

    A library of before the plugins that holds CUDA names it in its local version. Also returns the version and the name of that half in the matrix.
    """
    kind = spec_of(framework.name).plugin
    if kind is None or isinstance(packages, Missing) or isinstance(framework.cuda_build, bool):
        return framework, framework.version, framework.distribution
    plugin = next((distribution for distribution in packages.distributions if kind.major(distribution.name)), None)
    library = next(
        (
            distribution
            for distribution in packages.distributions
            if distribution.name == kind.library and kind.cuda_in_library(distribution.version)[0]
        ),
        None,
    )
    if plugin is None and library is not None:
        cuda, cudnn = (Fact(text, _name_and_version(library)) if text else NOT_ASKED for text in kind.cuda_in_library(library.version))
        whole = msgspec.structs.replace(framework, cuda_build=True, built_with_cuda=cuda, built_with_cudnn=cudnn)
        return whole, framework.version, framework.distribution
    extras = [extra for distribution in packages.distributions if distribution.name == framework.name for extra in distribution.extras]
    asked = next((extra.removeprefix(kind.extra)[:2] for extra in extras if extra.startswith(kind.extra)), "")
    major = kind.major(plugin.name) if plugin else asked
    if not major.isdigit() and (packages.selected or kind.extra in extras):
        return framework, framework.version, framework.distribution
    if not major.isdigit():
        return msgspec.structs.replace(framework, cuda_build=False), framework.version, framework.distribution
    where = _name_and_version(plugin) if plugin else f"the requested extra of {framework.name}"
    known = Fact(plugin.version, where) if plugin else framework.version
    built = msgspec.structs.replace(framework, cuda_build=True, built_with_cuda=Fact(major, where))
    return built, known, kind.plugin_for(major)


def published_rows(
    framework: Framework, python: Python | Missing, matrix: Matrix, host: Host | Missing, packages: Packages | Missing
) -> tuple[FrameworkRelease, ...]:
    """The matrix's rows for the release whose GPU code this framework runs, or for its plugin and client."""
    places: list[tuple[str, Fact | Missing]] = [(framework.distribution, _version_with_build(framework))]
    plugin = spec_of(framework.name).plugin
    if plugin is not None:
        listed = () if isinstance(packages, Missing) else packages.distributions
        places = [
            (distribution.name, Fact(distribution.version, distribution.where))
            for distribution in listed
            if distribution.name.startswith(plugin.beginning)
        ]
    rows = (_release_row(version, name, python, matrix, host) for name, version in places)
    return tuple(row for row in rows if row is not None)


def _version_with_build(framework: Framework) -> Fact | Missing:
    """The version with its CUDA as a local version, where the build states one and the version does not: conda's 1.8.0 for CUDA 11.1."""
    version, built = framework.version, framework.built_with_cuda
    cuda = versions.parse_version(built.value) if isinstance(built, Fact) else None
    if not isinstance(version, Fact) or cuda is None or "+" in version.value or not spec_of(framework.name).wheel_index:
        return version
    return Fact(f"{version.value}+cu{cuda.major}{cuda.minor}", version.where)


def _name_and_version(distribution: Distribution) -> str:
    return f"{distribution.name} {distribution.version}"


def _settled_version(own: Fact | Missing, known: Version | None, row: FrameworkRelease | None) -> tuple[Version | None, str, str]:
    """A version, its source, and any disagreement.

    The framework's own statement outranks the matrix, which only makes it more precise: TensorFlow 1.14's "10" is 10.0.
    """
    said = versions.parse_version(own.value) if isinstance(own, Fact) else None
    where = citation(row.source, f"{row.distribution} {row.release}") if row is not None else ""
    if said is None or not isinstance(own, Fact):
        return known, where if known is not None else "", ""
    if known is None:
        return said, own.where, ""
    if _differs(said, known):
        return said, own.where, f"{where} says {known}"
    return (known, f"{own.where} ({said}); {where}", "") if _part_count(said) < _part_count(known) else (said, own.where, "")


def _part_count(version: Version) -> int:
    return version.text.count(".") + 1


def _differs(said: Version, known: Version) -> bool:
    """Whether two versions differ in a part that both state, down to the minor one ("9" and "9.3.0" do not)."""
    parts = min(_part_count(said), _part_count(known), 2)
    return said[:parts] != known[:parts]


def _driver_floors(cuda: Version, matrix: Matrix, host: Host | Missing) -> tuple[Version | Missing, Version | Missing, str]:
    windows = isinstance(host, Host) and host.platform == Platform.WINDOWS
    known = matrix.driver_floor(cuda, "windows" if windows else "linux")
    if known is None:
        return _UNKNOWN_FLOOR, _UNKNOWN_FLOOR, ""
    exact = known.exact or _UNKNOWN_FLOOR
    return known.minor_version_floor or exact, exact, citation(known.source, f"CUDA {cuda.short}")


def effective_cuda(
    framework: Framework,
    python: Python | Missing,
    matrix: Matrix,
    host: Host | Missing = NOT_ASKED,
    packages: Packages | Missing = NOT_ASKED,
) -> EffectiveCuda | Missing:
    """The CUDA that `framework` would run with; absent if its build has none, not-stated if no source names it."""
    framework, version, name = _framework_with_plugin(framework, packages)
    if framework.cuda_build is False:
        plugin = spec_of(framework.name).plugin
        why = f"no CUDA plugin of {framework.name} is installed" if plugin else f"{framework.distribution} is built without CUDA"
        return Missing(Cause.ABSENT, why)
    version = _version_with_build(framework) if name == framework.distribution else version
    row = _release_row(version, name, python, matrix, host)
    if row is not None and row.accelerator in ACCELERATORS_WITHOUT_CUDA and not isinstance(framework.built_with_cuda, Fact):
        if framework.cuda_build is not True:
            return Missing(Cause.ABSENT, f"{row.distribution} {row.release} is published without CUDA")
        row = None  # conda's build of the release is another one
    assumed = spec_of(framework.name).other_builds and not isinstance(framework.built_with_cuda, Fact)
    if assumed and row is not None and (stated := _conda_toolkit_cuda(row, packages)):
        framework, row = msgspec.structs.replace(framework, built_with_cuda=stated), None
    cuda, where, disagreement = _settled_version(framework.built_with_cuda, row.built_with_cuda if row else None, row)
    if cuda is None:
        return Missing(
            Cause.NOT_STATED,
            f"neither {framework.distribution or framework.name}'s files nor the compatibility matrix state its CUDA version",
        )
    cudnn, cudnn_where, cudnn_clash = _settled_version(framework.built_with_cudnn, row.cudnn if row else None, row)
    floor, exact, floor_where = _driver_floors(cuda, matrix, host)
    return EffectiveCuda(
        version=cuda,
        where=where,
        cudnn=cudnn or Missing(Cause.NOT_STATED, "no source states its cuDNN version"),
        cudnn_where=cudnn_where,
        floor=floor,
        exact_floor=exact,
        floor_where=floor_where,
        assumed=assumed,
        disagreement="; ".join(filter(None, (disagreement, cudnn_clash))),
    )


def _conda_toolkit_cuda(row: FrameworkRelease, packages: Packages | Missing) -> Fact | None:
    """The CUDA of conda's runtime package, if the package index's build is for another: the build is one for that CUDA."""
    listed = () if isinstance(packages, Missing) else packages.distributions
    toolkit = next((distribution for distribution in listed if distribution.name == "cudatoolkit"), None)
    said = versions.parse_version(toolkit.version) if toolkit else None
    known = row.built_with_cuda
    if toolkit is None or said is None or known is None or not _differs(said, known):
        return None
    return Fact(f"{said.major}.{said.minor}", f"{_name_and_version(toolkit)}, {toolkit.where}")


MINOR_COMPATIBILITY_SINCE = 11
"""The first major version of CUDA with minor-version compatibility, by NVIDIA's compatibility guide."""


def is_driver_new_enough(driver: Driver, effective: EffectiveCuda, site: Site) -> bool | Missing:
    """Whether the driver is new enough for a build's CUDA; missing if the required driver is unknown.

    Linux drivers are compared with the release's floor. Windows drivers behind WSL have other numbers, and a libcuda of cuda-compat is newer
    than the driver: there the supported CUDA must have the same major version, or be no older than the build's where CUDA had no minor-version compatibility.
    """
    if not (site.on_wsl or driver.forward):
        floor = effective.floor
        if isinstance(floor, Version) and "." not in str(driver.version) and driver.version.major == floor.major:
            return Missing(Cause.NOT_STATED, f"only the driver's branch is stated, and {floor} is one of its releases")
        return floor if isinstance(floor, Missing) else driver.version >= floor
    if isinstance(driver.cuda_served, Missing):
        return driver.cuda_served
    if effective.version.major < MINOR_COMPATIBILITY_SINCE:
        return driver.cuda_served >= effective.version
    return driver.cuda_served.major >= effective.version.major
