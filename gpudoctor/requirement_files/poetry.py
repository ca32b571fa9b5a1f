"""Reads Poetry's own tables, whose versions have carets and tildes of their own."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.requirement_files.collector import Collector
from gpudoctor.requirement_files.files import LineFinder, extras_of, origin_of, strings, table, tables
from gpudoctor.requirement_files.model import FileLine
from gpudoctor.snapshot.distributions import normalise

_OWN = "its version is written as only Poetry writes it"
_DIGITS = 9
"""Of a part of a version; more are garbage."""


def read_table(poetry: dict[str, Any], file: str, lines: LineFinder, into: Collector) -> None:
    """Take what [tool.poetry] asks for: its dependencies, and those of the groups that were named."""
    sources = {str(one.get("name")): str(one.get("url", "")) for one in tables(poetry.get("source"))}
    wanted = {normalise(extra) for extra in table(poetry, "extras") if into.wants_extra(extra, file)}
    extras = {normalise(name) for extra, names in table(poetry, "extras").items() if normalise(extra) in wanted for name in strings(names)}
    groups = {"dev": {"dependencies": poetry.get("dev-dependencies")}, **table(poetry, "group")}
    listed = [table(poetry, "dependencies")]
    listed += [
        table(group, "dependencies") for name, group in groups.items() if table(group, "dependencies") and into.wants_group(name, file)
    ]
    for name, given in (item for one in listed for item in one.items()):
        for each in given if isinstance(given, list) else [given]:
            one = each if isinstance(each, dict) else {"version": each}
            if not one.get("optional") or normalise(name) in extras:
                _take(name, one, FileLine(file, lines.of(name)), into, sources)


def _take(name: str, one: dict[str, Any], place: FileLine, into: Collector, sources: dict[str, str]) -> None:
    version = one.get("version")
    if name == "python":
        take_python(str(version or "*"), place, into)
    elif not isinstance(version, str):
        into.not_read(f"{name} = {one}", f"it comes from {origin_of(one)}, which does not tell the release", place, name=normalise(name))
    elif (specifier := pep440(version)) is None:
        into.not_read(f"{name} = {version}", _OWN, place, name=normalise(name))
    else:
        markers = [f"({one['markers']})"] if one.get("markers") else []
        markers += [f"({_python_marker(str(one['python']))})"] if one.get("python") else []
        marker = f" ; {' and '.join(markers)}" if markers else ""
        into.text(f"{name}{extras_of(one)}{specifier}{marker}", place, index=sources.get(str(one.get("source")), ""))


def take_python(constraint: str, place: FileLine, into: Collector) -> None:
    """Take what Poetry says of the interpreter."""
    specifier = pep440(constraint)
    if specifier is None:
        into.not_read(f"python = {constraint}", _OWN, place, package=False)
    elif specifier:
        into.python(specifier, place)


def _python_marker(text: str) -> str:
    clauses = re.findall(r"(?<![<>=!~])([<>=!~]+)([\d.]+)", pep440(text) or "")
    return " and ".join(f"python_version {operator} '{version}'" for operator, version in clauses) or "python_version >= '2'"


def pep440(text: str) -> str | None:
    """Poetry's version constraint as PEP 440; None for alternatives, which PEP 440 lacks, and for what is no version."""
    clauses = [_clause(part.strip()) for part in re.split(r",|(?<=[\w*])\s+(?=[<>=!~^])", text.strip()) if part.strip()]
    return None if "|" in text or None in clauses else ",".join(filter(None, clauses))


def _clause(part: str) -> str | None:
    if part == "*":
        return ""
    if part[0] in "^~" and not part.startswith("~="):
        numbers = [int(number) for number in re.findall(r"\d+", part.partition("+")[0]) if len(number) <= _DIGITS][:3]
        if not numbers:
            return None
        if part[0] == "^":
            kept = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
        else:
            kept = min(1, len(numbers) - 1)
        upper = [*numbers[:kept], numbers[kept] + 1]
        return f">={part[1:].strip()},<{'.'.join(str(number) for number in upper)}"
    return part if part[0] in "<>=!~" else f"=={part}"
