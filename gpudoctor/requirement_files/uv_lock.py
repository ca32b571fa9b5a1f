"""Finds which packages of uv.lock are installed, and where: a lock file for all platforms, extras and groups at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.requirement_files.collector import Collector
from gpudoctor.requirement_files.environments import Environments
from gpudoctor.requirement_files.files import strings, table, tables
from gpudoctor.snapshot.distributions import normalise

ALWAYS, NEVER = "python_version >= '2'", "python_version < '2'"
"""Markers that hold everywhere and nowhere."""
_CHOICE = re.compile(r"""extra\s*(==|!=)\s*['"](extra|group)-(\d+)-([\w.-]+)['"]""")
_Reached = tuple[int, str]
"""A package by its place in the list, with one of its extras or ""."""


def conditions(packages: list[dict[str, Any]], python: str, file: str, into: Collector) -> dict[int, str]:
    """The marker under which each package is installed, by its place in the list; a package that nothing installs is left out."""
    by_name: dict[str, list[int]] = {}
    for place, package in enumerate(packages):
        by_name.setdefault(str(package.get("name")), []).append(place)
    environments = Environments(python)
    roots = [place for place, package in enumerate(packages) if {"virtual", "editable"} & table(package, "source").keys()]
    reached: dict[_Reached, int] = {(place, ""): environments.all for place in roots}
    changed = list(reached)
    while changed:
        place, extra = here = changed.pop()
        edges = _asked(packages[place], file, into) if place in roots else _edges(packages[place], extra)
        for edge in edges:
            where = reached[here] & environments.where(_settled(str(edge.get("marker", "")), file, into))
            for target in ((found, name) for found in _targets(edge, packages, by_name) for name in ("", *strings(edge.get("extra")))):
                if where & ~reached.get(target, 0):
                    reached[target] = reached.get(target, 0) | where
                    changed.append(target)
    return {place: environments.marker(where) for (place, extra), where in reached.items() if not extra}


def _edges(one: dict[str, Any], extra: str) -> list[dict[str, Any]]:
    return tables(table(one, "optional-dependencies").get(extra)) if extra else tables(one.get("dependencies"))


def _asked(project: dict[str, Any], file: str, into: Collector) -> Iterator[dict[str, Any]]:
    """What a project of the user requires, with the extras and groups that were named."""
    yield from _edges(project, "")
    for name in table(project, "optional-dependencies"):
        if into.wants_extra(name, file):
            yield from _edges(project, name)
    for name, listed in table(project, "dev-dependencies").items():
        if into.wants_group(name, file):
            yield from tables(listed)


def _targets(edge: dict[str, Any], packages: list[dict[str, Any]], by_name: dict[str, list[int]]) -> list[int]:
    """The packages that a dependency names: by version or source where several have its name."""
    found = by_name.get(str(edge.get("name")), [])
    exact = [place for place in found if edge.get("version") in (None, packages[place].get("version"))]
    return [place for place in exact if not edge.get("source") or edge["source"] == packages[place].get("source")] or exact


def _settled(marker: str, file: str, into: Collector) -> str:
    """A marker in which uv's choices between conflicting extras and groups are settled."""

    def answer(found: re.Match[str]) -> str:
        name = normalise(found[4][int(found[3]) + 1 :])
        wanted = into.wants_extra(name, file) if found[2] == "extra" else into.wants_group(name, file)
        return ALWAYS if wanted is (found[1] == "==") else NEVER

    return _CHOICE.sub(answer, marker)
