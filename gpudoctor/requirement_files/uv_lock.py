"""Finds which packages of uv.lock are installed, and where: a lock file for all platforms, extras and groups at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.files import nested_table, strings_of_list, tables_of_list
from gpudoctor.requirement_files.marker_environments import MarkerEnvironments
from gpudoctor.snapshot.distributions import normalise_distribution

ALWAYS_MARKER, NEVER_MARKER = "python_version >= '2'", "python_version < '2'"
"""Markers that hold everywhere and nowhere."""
_EXTRA_CHOICE = re.compile(r"""extra\s*(==|!=)\s*['"](extra|group)-(\d+)-([\w.-]+)['"]""")
_ReachedPackage = tuple[int, str]
"""A package by its place in the list, with one of its extras or ""."""


def markers_by_package(packages: list[dict[str, Any]], python: str, file: str, into: StatementCollector) -> dict[int, str]:
    """The marker under which each package is installed, by its place in the list; a package that nothing installs is left out."""
    by_name: dict[str, list[int]] = {}
    for place, package in enumerate(packages):
        by_name.setdefault(str(package.get("name")), []).append(place)
    environments = MarkerEnvironments(python)
    roots = [place for place, package in enumerate(packages) if {"virtual", "editable"} & nested_table(package, "source").keys()]
    reached: dict[_ReachedPackage, int] = {(place, ""): environments.all for place in roots}
    changed = list(reached)
    while changed:
        place, extra = here = changed.pop()
        edges = _wanted_dependencies(packages[place], file, into) if place in roots else _dependencies_of(packages[place], extra)
        for edge in edges:
            where = reached[here] & environments.where(_settled_marker(str(edge.get("marker", "")), file, into))
            for target in (
                (found, name) for found in _dependency_places(edge, packages, by_name) for name in ("", *strings_of_list(edge.get("extra")))
            ):
                if where & ~reached.get(target, 0):
                    reached[target] = reached.get(target, 0) | where
                    changed.append(target)
    return {place: environments.marker(where) for (place, extra), where in reached.items() if not extra}


def _dependencies_of(one: dict[str, Any], extra: str) -> list[dict[str, Any]]:
    return tables_of_list(nested_table(one, "optional-dependencies").get(extra)) if extra else tables_of_list(one.get("dependencies"))


def _wanted_dependencies(project: dict[str, Any], file: str, into: StatementCollector) -> Iterator[dict[str, Any]]:
    """What a project of the user requires, with the extras and groups that were named."""
    yield from _dependencies_of(project, "")
    for name in nested_table(project, "optional-dependencies"):
        if into.is_extra_wanted(name, file):
            yield from _dependencies_of(project, name)
    for name, listed in nested_table(project, "dev-dependencies").items():
        if into.is_group_wanted(name, file):
            yield from tables_of_list(listed)


def _dependency_places(edge: dict[str, Any], packages: list[dict[str, Any]], by_name: dict[str, list[int]]) -> list[int]:
    """The packages that a dependency names: by version or source where several have its name."""
    found = by_name.get(str(edge.get("name")), [])
    exact = [place for place in found if edge.get("version") in (None, packages[place].get("version"))]
    return [place for place in exact if not edge.get("source") or edge["source"] == packages[place].get("source")] or exact


def _settled_marker(marker: str, file: str, into: StatementCollector) -> str:
    """A marker in which uv's choices between conflicting extras and groups are settled."""

    def answer(found: re.Match[str]) -> str:
        name = normalise_distribution(found[4][int(found[3]) + 1 :])
        wanted = into.is_extra_wanted(name, file) if found[2] == "extra" else into.is_group_wanted(name, file)
        return ALWAYS_MARKER if wanted is (found[1] == "==") else NEVER_MARKER

    return _EXTRA_CHOICE.sub(answer, marker)
