"""Reads lock files in TOML: uv.lock, poetry.lock and pylock.toml (PEP 751)."""

from __future__ import annotations

import re
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from gpudoctor.requirement_files import uv_lock
from gpudoctor.requirement_files.collector import Collector
from gpudoctor.requirement_files.files import Lines, table, tables, toml_of
from gpudoctor.requirement_files.model import Place, Stated
from gpudoctor.requirement_files.poetry import pep440
from gpudoctor.snapshot.distributions import normalise

_PYPI = re.compile(r"https://pypi\.org/simple/?")
_LOCAL = ("git", "vcs", "path", "directory", "editable", "archive")


def read(text: str, file: str, into: Collector) -> None:
    """Take the packages of a lock file that would be installed without the extras and groups that nobody named."""
    document, lines = toml_of(text, file), Lines(text)
    required = document.get("requires-python") or table(document, "metadata").get("python-versions")
    if isinstance(required, str) and (specifier := pep440(required)):
        into.python(specifier, Place(file, lines.of("python")))
    packages = tables(document.get("package")) or tables(document.get("packages"))
    conditions = uv_lock.conditions(packages, file, into) if _of_uv(packages) else {}
    extras = _of_extras(document, into, file)
    for place, one in enumerate(packages):
        name = one.get("name")
        if not isinstance(name, str) or one.get("source", {}) in ({"virtual": "."}, {"editable": "."}):
            continue
        line = lines.of(f'name = "{name}"')
        if _left_out(one, extras, into, file) or (conditions and place not in conditions):
            continue
        marker = conditions.get(place) or _marker(one, into, file)
        _take(one, marker, Place(file, line), into)


def _of_uv(packages: list[dict[str, Any]]) -> bool:
    return any("dependencies" in one or "virtual" in table(one, "source") for one in packages) and all(
        not one.get("files") and "python-versions" not in one and "marker" not in one for one in packages
    )


def _take(one: dict[str, Any], marker: str, place: Place, into: Collector) -> None:
    name, version, source = str(one["name"]), one.get("version"), table(one, "source")
    kind = next((key for key in _LOCAL if key in source or key in one), source.get("type"))
    if not isinstance(version, str) or kind in _LOCAL:
        into.not_read(name, f"it is installed from {kind or 'an address'}, which does not tell the release", place, name=normalise(name))
        return
    index = str(source.get("registry") or source.get("url") or one.get("index") or "")
    try:
        wanted = Requirement(f"{name}=={version}{f' ; {marker}' if marker else ''}")
    except InvalidRequirement:
        into.not_read(f"{name} {version}", "its version or marker is not valid", place, name=normalise(name))
        return
    into.add(Stated(requirement=wanted, places=(place,), index="" if _PYPI.match(index) else index, pure=_pure(one)))


def _pure(one: dict[str, Any]) -> bool:
    """Whether a package has wheels and none of them is for one platform."""
    files = [*tables(one.get("wheels")), *tables(one.get("files"))]
    names = [str(file.get("name") or file.get("file") or file.get("url") or file.get("path")) for file in files]
    wheels = [name for name in names if name.endswith(".whl")]
    return bool(wheels) and all(name.endswith("-none-any.whl") for name in wheels)


def _of_extras(document: dict[str, Any], into: Collector, file: str) -> set[str]:
    """The optional packages of poetry.lock that a named extra installs."""
    listed = table(document, "extras")
    return {normalise(str(name)) for extra, names in listed.items() if into.wants_extra(extra, file) for name in names}


def _left_out(one: dict[str, Any], extras: set[str], into: Collector, file: str) -> bool:
    """Whether Poetry installs a package only with an extra or a group that nobody named."""
    groups = [str(name) for name in one.get("groups") or [one.get("category", "main")]]
    wanted = [name for name in groups if name == "main" or into.wants_group(name, file)]
    return not wanted or (bool(one.get("optional")) and normalise(str(one["name"])) not in extras)


def _marker(one: dict[str, Any], into: Collector, file: str) -> str:
    """A package's marker, in which named extras and groups are settled."""
    given = one.get("marker") or one.get("markers") or ""
    if isinstance(given, dict):
        given = given.get("main", "")
    text = str(given)
    for names, wants in (("extras", into.wants_extra), ("dependency_groups", into.wants_group)):
        pieces = re.split(rf"""['"]([\w.-]+)['"]\s+(not\s+)?in\s+{names}\b""", text)
        for at in range(1, len(pieces), 3):
            pieces[at] = uv_lock.ALWAYS if wants(pieces[at], file) is not bool(pieces[at + 1]) else uv_lock.NEVER
            pieces[at + 1] = ""
        text = "".join(pieces)
    return text
