"""Finds which packages of uv.lock are installed, and under which markers: a lock file for all platforms, extras and groups at once."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from gpudoctor.requirement_files.collector import Collector
from gpudoctor.requirement_files.files import table, tables
from gpudoctor.snapshot.distributions import normalise

_Step = tuple[int, str, tuple[str, ...]]
ALWAYS, NEVER = "python_version >= '2'", "python_version < '2'"
"""Markers that hold everywhere and nowhere."""
_MOST = 6
"""Ways to a package whose markers are told apart; with more it counts as always installed."""
_CHOICE = re.compile(r"""extra\s*(==|!=)\s*['"](extra|group)-(\d+)-([\w.-]+)['"]""")


def conditions(packages: list[dict[str, Any]], file: str, into: Collector) -> dict[int, str]:
    """The marker under which each package is installed, by its place in the list; a package that nothing installs is left out."""
    by_name: dict[str, list[int]] = {}
    for place, one in enumerate(packages):
        by_name.setdefault(str(one.get("name")), []).append(place)
    ways: dict[int, list[str]] = {}
    queue: deque[_Step] = deque(
        (place, "", ()) for place, one in enumerate(packages) if {"virtual", "editable"} & table(one, "source").keys()
    )
    followed: set[_Step] = set(queue)
    for place, _, _ in queue:
        ways[place] = [""]
    roots = set(ways)
    while queue:
        place, marker, extras = queue.popleft()
        edges = _asked(packages[place], file, into) if place in roots else _edges(packages[place], extras)
        for edge in edges:
            joined = _both(marker, _settled(str(edge.get("marker", "")), file, into))
            wanted = tuple(str(extra) for extra in edge.get("extra", ()))
            for target in _targets(edge, packages, by_name):
                known = ways.setdefault(target, [])
                if "" in known:
                    condition = ""
                else:
                    condition = joined if len(known) < _MOST else ""
                    known[:] = [""] if not condition else list(dict.fromkeys((*known, condition)))
                step = (target, condition, wanted)
                if step not in followed:
                    followed.add(step)
                    queue.append(step)
    return {place: " or ".join(f"({one})" for one in known) if known != [""] else "" for place, known in ways.items()}


def _edges(one: dict[str, Any], extras: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    yield from tables(one.get("dependencies"))
    for name in extras:
        yield from tables(table(one, "optional-dependencies").get(name))


def _asked(project: dict[str, Any], file: str, into: Collector) -> Iterator[dict[str, Any]]:
    """What a project of the user requires, with the extras and groups that were named."""
    extras = [name for name in table(project, "optional-dependencies") if into.wants_extra(name, file)]
    yield from _edges(project, tuple(extras))
    for name, listed in table(project, "dev-dependencies").items():
        if into.wants_group(name, file):
            yield from tables(listed)


def _targets(edge: dict[str, Any], packages: list[dict[str, Any]], by_name: dict[str, list[int]]) -> list[int]:
    """The packages that a dependency names: by version or source where several have its name."""
    found = by_name.get(str(edge.get("name")), [])
    exact = [place for place in found if edge.get("version") in {None, packages[place].get("version")}]
    return [place for place in exact if not edge.get("source") or edge["source"] == packages[place].get("source")] or exact


def _both(first: str, second: str) -> str:
    return f"({first}) and ({second})" if first and second and first != second else first or second


def _settled(marker: str, file: str, into: Collector) -> str:
    """A marker in which uv's choices between conflicting extras and groups are settled."""

    def answer(found: re.Match[str]) -> str:
        name = normalise(found[4][int(found[3]) + 1 :])
        wanted = into.wants_extra(name, file) if found[2] == "extra" else into.wants_group(name, file)
        return ALWAYS if wanted is (found[1] == "==") else NEVER

    return _CHOICE.sub(answer, marker)
