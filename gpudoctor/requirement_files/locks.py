"""Reads lock files in TOML: uv.lock, poetry.lock and pylock.toml (PEP 751)."""

from __future__ import annotations

import re
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from gpudoctor.frameworks import NVIDIA_PACKAGES, framework_of
from gpudoctor.requirement_files import uv_lock
from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.files import LineFinder, nested_table, strings_of_list, tables_of_list
from gpudoctor.requirement_files.model import FileLine, StatedRequirement
from gpudoctor.requirement_files.poetry import add_python
from gpudoctor.snapshot.distributions import normalise_distribution
from gpudoctor.toml_text import parse_toml

_GPU_NAMES = re.compile(
    r"^(?:nvidia|cuda|cupy|nvtx|pycuda|torch|jaxlib|tensorflow)$|^nvidia-|\b(?:gpu|cu1\d|cuda|cubin|kernels?|triton)\b|^flash"
)
_MAX_PURE_BYTES = 50 << 20
"""Bytes of a wheel; a larger one for any platform holds data, which may be GPU code, as flashinfer-cubin does."""
_MAX_SIZE_RATIO = 4
"""How much larger a Linux wheel without GPU code is at most: it may hold more libraries."""
_LOCAL_SOURCES = ("git", "vcs", "path", "directory", "archive")


def read(text: str, file: str, into: StatementCollector) -> None:
    """Take the packages of a lock file that would be installed without the extras and groups that nobody named."""
    document, lines = parse_toml(text, file), LineFinder(text)
    required = document.get("requires-python") or nested_table(document, "metadata").get("python-versions")
    if isinstance(required, str):
        add_python(required, FileLine(file, lines.of("python")), into)
    packages = tables_of_list(document.get("package")) or tables_of_list(document.get("packages"))
    conditions = uv_lock.markers_by_package(packages, str(required or ""), file, into) if _is_uv_lock(packages) else {}
    extras, required_by = _packages_of_extras(document, into, file), _requiring_frameworks(packages)
    for place, package in enumerate(packages):
        name = package.get("name")
        if not isinstance(name, str):
            continue
        line = lines.of(f'name = "{name}"')
        if {"virtual", "editable"} & nested_table(package, "source").keys():
            into.not_read(name, "it is source code of the project, whose requirements are read", FileLine(file, line), package=False)
            continue
        if _is_left_out(package, extras, into, file) or (conditions and place not in conditions):
            continue
        marker = conditions.get(place) or _settled_marker(package, into, file)
        _add_package(package, marker, FileLine(file, line), into, required_by.get(normalise_distribution(name), ""))


def _is_uv_lock(packages: list[dict[str, Any]]) -> bool:
    return any("dependencies" in package or "virtual" in nested_table(package, "source") for package in packages) and all(
        not package.get("files") and "python-versions" not in package and "marker" not in package for package in packages
    )


def _add_package(one: dict[str, Any], marker: str, place: FileLine, into: StatementCollector, required_by: str) -> None:
    name, version, source = str(one["name"]), one.get("version"), nested_table(one, "source")
    kind = next((key for key in _LOCAL_SOURCES if key in source or key in one), source.get("type"))
    if not isinstance(version, str) or kind in _LOCAL_SOURCES:
        into.not_read(
            name, f"it is installed from {kind or 'an address'}, which does not tell the release", place, name=normalise_distribution(name)
        )
        return
    index = str(source.get("registry") or source.get("url") or one.get("index") or "")
    try:
        wanted = Requirement(f"{name}=={version}{f' ; {marker}' if marker else ''}")
    except InvalidRequirement:
        into.not_read(f"{name} {version}", "its version or marker is not valid", place, name=normalise_distribution(name))
        return
    into.add(
        StatedRequirement(
            requirement=wanted,
            places=(place,),
            index=index,
            required_by=required_by,
            without_gpu_code=(is_pure_python(one) or is_size_as_on_macos(one)) and not is_gpu_related(one),
        )
    )


def _requiring_frameworks(packages: list[dict[str, Any]]) -> dict[str, str]:
    """The framework that requires each package."""
    found: dict[str, str] = {}
    left = [(package, str(package["name"])) for package in packages if framework_of(normalise_distribution(str(package.get("name"))))]
    while left:
        by, framework = left.pop()
        optional = (
            [one for listed in nested_table(by, "optional-dependencies").values() for one in tables_of_list(listed)]
            if by["name"] != framework
            else []
        )
        for wanted in (*tables_of_list(by.get("dependencies")), *optional):
            name = normalise_distribution(str(wanted.get("name")))
            if name not in found:
                found[name] = framework
                left += [(package, framework) for package in packages if package.get("name") == name and name.startswith(NVIDIA_PACKAGES)]
    return found


def is_gpu_related(one: dict[str, Any]) -> bool:
    """Whether a package is by its name for GPUs, or requires a framework, Triton or CUDA's packages: it may hold Triton kernels."""
    names = [str(one.get("name")), *(str(wanted.get("name")) for wanted in tables_of_list(one.get("dependencies")))]
    return any(_GPU_NAMES.search(normalise_distribution(name)) for name in names)


def is_pure_python(one: dict[str, Any]) -> bool:
    """Whether a package has wheels and none of them is for one platform."""
    files = [*tables_of_list(one.get("wheels")), *tables_of_list(one.get("files"))]
    names = [str(file.get("name") or file.get("file") or file.get("url") or file.get("path")) for file in files]
    wheels = [name for name in names if name.endswith(".whl")]
    small = all(isinstance(size := file.get("size", 0), int) and size < _MAX_PURE_BYTES for file in files)
    return bool(wheels) and small and all(name.endswith("-none-any.whl") for name in wheels)


def is_size_as_on_macos(one: dict[str, Any]) -> bool:
    """Whether the Linux wheels of a package are about as large as those for macOS, which has no CUDA: GPU code would make them much larger."""
    sizes: dict[str, list[int]] = {"macosx": [], "linux": []}
    for file in tables_of_list(one.get("wheels")):
        name, size = str(file.get("url") or file.get("name")), file.get("size")
        for system, known in sizes.items():
            if system in name.rpartition("/")[2] and isinstance(size, int):
                known.append(size)
    return bool(sizes["macosx"] and sizes["linux"]) and max(sizes["linux"]) <= _MAX_SIZE_RATIO * max(sizes["macosx"])


def _packages_of_extras(document: dict[str, Any], into: StatementCollector, file: str) -> set[str]:
    """The optional packages of poetry.lock that a named extra installs."""
    listed = nested_table(document, "extras")
    return {
        normalise_distribution(name)
        for extra, names in listed.items()
        if into.is_extra_wanted(extra, file)
        for name in strings_of_list(names)
    }


def _is_left_out(one: dict[str, Any], extras: set[str], into: StatementCollector, file: str) -> bool:
    """Whether Poetry installs a package only with an extra or a group that nobody named."""
    wanted = [
        name
        for name in strings_of_list(one.get("groups")) or [str(one.get("category", "main"))]
        if name == "main" or into.is_group_wanted(name, file)
    ]
    return not wanted or (bool(one.get("optional")) and normalise_distribution(str(one["name"])) not in extras)


def _settled_marker(one: dict[str, Any], into: StatementCollector, file: str) -> str:
    """A package's marker, in which named extras and groups are settled."""
    given = one.get("marker") or one.get("markers") or ""
    if isinstance(given, dict):
        given = given.get("main", "")
    text = str(given)
    for names, wants in (("extras", into.is_extra_wanted), ("dependency_groups", into.is_group_wanted)):
        pieces = re.split(rf"""['"]([\w.-]+)['"]\s+(not\s+)?in\s+{names}\b""", text)
        for at in range(1, len(pieces), 3):
            pieces[at] = uv_lock.ALWAYS_MARKER if wants(pieces[at], file) is not bool(pieces[at + 1]) else uv_lock.NEVER_MARKER
            pieces[at + 1] = ""
        text = "".join(pieces)
    return text
