"""What an installer's message and the tables say together: whether a release exists, and whether it has a wheel for the Python at hand."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import MachineView
from gpudoctor.expressions import expression
from gpudoctor.findings import Evidence
from gpudoctor.matrix.row_matching import final_release
from gpudoctor.snapshot import Platform, Python

_OFFERED_RELEASES = expression(
    r"the requirement ([A-Za-z][\w.-]{0,60})(?:\[[^\]\n]{0,40}\])?={2,3}(\d[\w.+]{0,30})[^\n]{0,120}\(from versions: ([^()\n]{0,4000})\)"
)
_REFUSED_WHEEL = expression(r"-cp(\d)(\d{1,2})-[^\s-]{1,40}-\S{1,80}\.whl is not a supported wheel")
_PINNED_RELEASE = expression(r"\b(tensorflow|tensorflow-gpu|torch|jaxlib)={2,3}(\d{1,2}\.\d{1,2}\.\d{1,2})(?![\w.])")
_ONLY_SOURCES = expression(r"(?:0\.1\.2(?:\.?post\d)?[, ]{0,2}){1,4}")
"""What PyPI offers of torch to a Python that no wheel is for: https://github.com/pytorch/pytorch/issues/66399"""
_INDEX_TAG = expression(r"/whl/(cu\d{2,3})\b")
_TORCH_REQUIREMENT = expression(r"the requirement (torch)(?:={2,3}(\d[\w.]{0,30}))?[^\n]{0,80}\(from versions: (?:none)?\)")
_NONE_OFFERED = expression(r"the requirement (?:tensorflow|torch|jaxlib?)(?![\w-])[^\n]{0,80}\(from versions: (?:none)?\)")

_WHEEL_SYSTEMS: dict[str, str] = {
    Platform.WINDOWS: "win_",
    Platform.MACOS: "macos_",
    **dict.fromkeys((Platform.LINUX, Platform.WSL1, Platform.WSL2, Platform.JETSON), "linux_"),
}
"""How the platforms of wheels begin, in the tables."""


def other_python_evidence(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield what shows that the release exists and has no wheel for this Python."""
    for name, wanted, offered in _OFFERED_RELEASES.findall(text):
        if offered.strip() in {"", "none"} or _is_on_another_index(wanted, offered):
            continue
        if _is_published(machine, name, wanted, offered) is not False and _are_on_one_side(wanted, offered):
            yield Evidence(f"releases of {name} for this Python", _release_range(offered), "the installer")
    python = machine.observed.python
    if not isinstance(python, Python) or not isinstance(python.version, str):
        return
    stated = Evidence("Python", python.version, python.why)
    if _NONE_OFFERED.search(text) and not is_windows_on_arm(machine) and not any(_builds_on_other_indexes(machine, text)):
        yield stated
    for name, wanted in _PINNED_RELEASE.findall(text):
        published = {short for row in machine.matrix.releases(name) if str(row.release) == wanted for short in row.pythons or ()}
        if published and ".".join(python.version.split(".")[:2]) not in published:
            yield stated
    for major, minor in _REFUSED_WHEEL.findall(text):
        if not f"{python.version}.".startswith(f"{major}.{minor}."):
            yield stated


def missing_release_evidence(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the releases that exist, if the requested one does not, or only on another index ("+cu118")."""
    for name, wanted, offered in _OFFERED_RELEASES.findall(text):
        if machine.site.platform == Platform.MACOS and "+cu" in wanted:
            continue  # no index has a build with CUDA for macOS
        if _is_published(machine, name, wanted, offered) is False or _is_on_another_index(wanted, offered):
            yield Evidence(f"releases of {name}", _release_range(offered), "the installer")
    for name, wanted in _PINNED_RELEASE.findall(text):
        rows = [row for row in machine.matrix.releases(name) if str(row.release) == wanted]
        if rows and not any(row.pythons for row in rows):
            yield Evidence(f"wheels of {name} {wanted}", "none", "matrix")
    yield from _builds_on_other_indexes(machine, text)


def has_wheel_for_python(machine: MachineView) -> bool:
    """Return whether the releases that an installer did not find have wheels for the Python that the text states, on its platform if that is known."""
    short, platform = stated_python(machine), wheel_platform_prefix(machine)
    wanted = {found.groups() for line in machine.log.lines for found in _PINNED_RELEASE.finditer(line.value)}
    rows = [
        [row for row in machine.matrix.releases(name) if str(row.release) == release and row.platform.startswith(platform)]
        for name, release in wanted
    ]
    return bool(rows) and all(any(short in (row.pythons or ()) for row in several) for several in rows)


def stated_python(machine: MachineView) -> str:
    """Return the Python that a text states, such as 3.11; empty if it states none."""
    python = machine.observed.python
    version = python.version if isinstance(python, Python) else ""
    return ".".join(version.split(".")[:2]) if isinstance(version, str) else ""


def wheel_platform_prefix(machine: MachineView) -> str:
    """Return how the platforms of the wheels begin that fit the system; empty if it is unknown."""
    return _WHEEL_SYSTEMS.get(machine.site.platform, "")


def is_windows_on_arm(machine: MachineView) -> bool:
    """Return whether the text is about Windows on ARM, for which no framework has a build with CUDA."""
    return machine.site.platform == Platform.WINDOWS and machine.host.architecture == "arm64"


def _builds_on_other_indexes(machine: MachineView, text: str) -> Iterator[Evidence]:
    """Yield the CUDA builds of a framework, if an index is asked for one that the wanted release does not have."""
    tags = set(_INDEX_TAG.findall(text))
    for name, wanted in _TORCH_REQUIREMENT.findall(text) if tags else ():
        rows = [row for row in machine.matrix.releases(name) if not wanted or row.release == final_release(wanted)]
        builds = {tag for row in rows for tag in row.builds if tag.startswith("cu")}
        if builds and not builds.intersection(tags):
            yield Evidence(f"CUDA builds of {name} {wanted}".rstrip(), ", ".join(sorted(builds)), "matrix")


def _is_on_another_index(wanted: str, offered: str) -> bool:
    """Return whether a build is wanted ("+cu118") and the index that was asked has releases without builds only."""
    return "+" in wanted and "+" not in offered and offered.strip() not in {"", "none"} and not _ONLY_SOURCES.fullmatch(offered)


def _is_published(machine: MachineView, name: str, wanted: str, offered: str) -> bool | None:
    """Return whether a release was ever published; None if neither the tables nor the offer reach that far, or for a build of another index."""
    rows, release = machine.matrix.releases(name.lower().replace("_", "-")), final_release(wanted)
    if "+" in wanted or release is None or not rows or release < rows[0].release:
        return None
    if release > rows[-1].release:
        newest = max((version for text in offered.split(",") if (version := final_release(text.strip().partition("+")[0]))), default=None)
        is_offered_the_newest = newest is not None and newest >= rows[-1].release
        return False if is_offered_the_newest else None
    return any(row.release == release for row in rows)


def _are_on_one_side(wanted: str, offered: str) -> bool:
    """Return whether all releases offered are newer than the wanted one, or all older, as the wheels for one Python are."""
    asked = versions.parse_version(wanted.partition("+")[0])
    listed = [found for one in offered.split(",") if (found := versions.parse_version(one.strip().partition("+")[0]))]
    return asked is not None and bool(listed) and (all(version > asked for version in listed) or all(version < asked for version in listed))


def _release_range(offered: str) -> str:
    listed = [one.strip() for one in offered.split(",")]
    return " to ".join(dict.fromkeys((listed[0], listed[-1])))
