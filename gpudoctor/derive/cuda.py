"""Which CUDA a framework would run with, and which driver that takes: the wheel's own files first, then the matrix."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive import wheel_platform
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.site import Site
from gpudoctor.frameworks import spec_of
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import NOT_ASKED, Cause, Distribution, Fact, Framework, Host, Missing, Packages, Platform, Python
from gpudoctor.versions import Version


class EffectiveCuda(msgspec.Struct, frozen=True, kw_only=True):
    """The CUDA that a framework's build wants, and the oldest drivers for it."""

    version: Version
    where: str
    cudnn: Version | Missing
    cudnn_where: str = ""
    floor: Version | Missing
    """The oldest driver of this system that runs it: under minor-version compatibility where CUDA has that, else the exact one."""
    exact_floor: Version | Missing
    """The oldest driver of this system that serves all of it, PTX included."""
    floor_where: str = ""
    disagreement: str = ""
    """What another source says, where it says something else."""


WITHOUT_CUDA = ("cpu", "metal")
"""What the matrix says of builds that do not use an NVIDIA GPU."""
STUB = "stub"
"""What it says of releases that only refuse to be installed."""
_UNKNOWN_FLOOR = Missing(Cause.NOT_STATED, "the compatibility matrix has no driver floor for this CUDA")


def _row(one: Fact | Missing, name: str, python: Python | Missing, matrix: Matrix, host: Host | Missing) -> FrameworkRelease | None:
    """What the matrix knows of this release, as it is published for this platform; where that is not known, for Linux on x86_64."""
    if not isinstance(one, Fact):
        return None
    interpreter = python.version if isinstance(python, Python) and isinstance(python.version, str) else None
    parsed = versions.parse(interpreter) if interpreter else None
    wheels = wheel_platform.name(host, python) or wheel_platform.LINUX
    return matrix.resolve(name, one.value, wheels, parsed.short if parsed else None).row


def _with_plugin(framework: Framework, packages: Packages | Missing) -> tuple[Framework, Fact | Missing, str]:
    """A framework with the CUDA of its plugin where only packages are named: the plugin itself, or the extra that installs it ("cuda12").

    Beside it the version and the name by which the matrix knows that half.
    """
    kind = spec_of(framework.name).plugin
    if kind is None or isinstance(packages, Missing) or isinstance(framework.cuda_build, bool):
        return framework, framework.version, framework.distribution
    plugin = next((one for one in packages.distributions if kind.major(one.name)), None)
    extras = (extra for one in packages.distributions if one.name == framework.name for extra in one.extras)
    asked = next((extra.removeprefix(kind.extra)[:2] for extra in extras if extra.startswith(kind.extra)), "")
    major = kind.major(plugin.name) if plugin else asked
    if not major.isdigit():
        return msgspec.structs.replace(framework, cuda_build=False), framework.version, framework.distribution
    where = _name_and_version(plugin) if plugin else f"the extra of {framework.name} that was asked for"
    known = Fact(plugin.version, where) if plugin else framework.version
    built = msgspec.structs.replace(framework, cuda_build=True, built_with_cuda=Fact(major, where))
    return built, known, kind.plugin_for(major)


def published(
    framework: Framework, python: Python | Missing, matrix: Matrix, host: Host | Missing, packages: Packages | Missing
) -> tuple[FrameworkRelease, ...]:
    """What the matrix knows of the release whose GPU code this framework runs, or of the plugin and its client that hold it."""
    places: list[tuple[str, Fact | Missing]] = [(framework.distribution, framework.version)]
    plugin = spec_of(framework.name).plugin
    if plugin is not None:
        listed = () if isinstance(packages, Missing) else packages.distributions
        places = [(one.name, Fact(one.version, one.where)) for one in listed if one.name.startswith(plugin.beginning)]
    rows = (_row(version, name, python, matrix, host) for name, version in places)
    return tuple(row for row in rows if row is not None)


def _name_and_version(one: Distribution) -> str:
    return f"{one.name} {one.version}"


def _settle(own: Fact | Missing, known: Version | None, row: FrameworkRelease | None) -> tuple[Version | None, str, str]:
    """A version, where it was read, and the disagreement.

    The framework's own word outranks the matrix, which only makes it more precise: TensorFlow 1.14 says "10" and means 10.0.
    """
    said = versions.parse(own.value) if isinstance(own, Fact) else None
    where = cited(row.source, f"{row.distribution} {row.release}") if row is not None else ""
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


def _floors(cuda: Version, matrix: Matrix, host: Host | Missing) -> tuple[Version | Missing, Version | Missing, str]:
    windows = isinstance(host, Host) and host.platform == Platform.WINDOWS
    known = matrix.driver_floor(cuda, "windows" if windows else "linux")
    if known is None:
        return _UNKNOWN_FLOOR, _UNKNOWN_FLOOR, ""
    exact = known.exact or _UNKNOWN_FLOOR
    return known.minor_version_floor or exact, exact, cited(known.source, f"CUDA {cuda.short}")


def effective_cuda(
    framework: Framework,
    python: Python | Missing,
    matrix: Matrix,
    host: Host | Missing = NOT_ASKED,
    packages: Packages | Missing = NOT_ASKED,
) -> EffectiveCuda | Missing:
    """The CUDA `framework` would run with; absent where its build has none, not-stated where nothing says."""
    framework, version, name = _with_plugin(framework, packages)
    if framework.cuda_build is False:
        plugin = spec_of(framework.name).plugin
        why = f"there is no CUDA plugin of {framework.name}" if plugin else f"{framework.distribution} is built without CUDA"
        return Missing(Cause.ABSENT, why)
    row = _row(version, name, python, matrix, host)
    if row is not None and row.accelerator in WITHOUT_CUDA and not isinstance(framework.built_with_cuda, Fact):
        return Missing(Cause.ABSENT, f"{row.distribution} {row.release} is published without CUDA")
    cuda, where, disagreement = _settle(framework.built_with_cuda, row.built_with_cuda if row else None, row)
    if cuda is None:
        return Missing(Cause.NOT_STATED, f"neither {framework.distribution}'s own files nor the matrix say which CUDA it was built with")
    cudnn, cudnn_where, cudnn_clash = _settle(framework.built_with_cudnn, row.cudnn if row else None, row)
    floor, exact, floor_where = _floors(cuda, matrix, host)
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
