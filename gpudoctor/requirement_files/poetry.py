"""Reads Poetry's own tables, whose versions have carets and tildes of their own."""

from __future__ import annotations

import re
from typing import Any

from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.files import LineFinder, extras_text, nested_table, origin_words, strings_of_list, tables_of_list
from gpudoctor.requirement_files.model import FileLine
from gpudoctor.snapshot.distributions import normalise_distribution

_POETRY_VERSION_NOTE = "its version is written as only Poetry writes it"
_MAX_DIGITS = 9
"""Of a part of a version; more are garbage."""


def read_table(poetry: dict[str, Any], file: str, lines: LineFinder, into: StatementCollector) -> None:
    """Take what [tool.poetry] asks for: its dependencies, and those of the groups that were named."""
    sources = {str(one.get("name")): str(one.get("url", "")) for one in tables_of_list(poetry.get("source"))}
    wanted = {normalise_distribution(extra) for extra in nested_table(poetry, "extras") if into.is_extra_wanted(extra, file)}
    extras = {
        normalise_distribution(name)
        for extra, names in nested_table(poetry, "extras").items()
        if normalise_distribution(extra) in wanted
        for name in strings_of_list(names)
    }
    groups = {"dev": {"dependencies": poetry.get("dev-dependencies")}, **nested_table(poetry, "group")}
    listed = [nested_table(poetry, "dependencies")]
    listed += [
        nested_table(group, "dependencies")
        for name, group in groups.items()
        if nested_table(group, "dependencies") and into.is_group_wanted(name, file)
    ]
    for name, given in (item for one in listed for item in one.items()):
        for each in given if isinstance(given, list) else [given]:
            one = each if isinstance(each, dict) else {"version": each}
            if not one.get("optional") or normalise_distribution(name) in extras:
                _add_dependency(name, one, FileLine(file, lines.of(name)), into, sources)


def _add_dependency(name: str, one: dict[str, Any], place: FileLine, into: StatementCollector, sources: dict[str, str]) -> None:
    version = one.get("version")
    if name == "python":
        add_python(str(version or "*"), place, into)
    elif not isinstance(version, str):
        into.not_read(
            f"{name} = {one}",
            f"it comes from {origin_words(one)}, which does not tell the release",
            place,
            name=normalise_distribution(name),
        )
    elif (specifier := pep440_specifier(version)) is None:
        into.not_read(f"{name} = {version}", _POETRY_VERSION_NOTE, place, name=normalise_distribution(name))
    else:
        markers = [f"({one['markers']})"] if one.get("markers") else []
        markers += [f"({_marker_of_python(str(one['python']))})"] if one.get("python") else []
        marker = f" ; {' and '.join(markers)}" if markers else ""
        into.text(f"{name}{extras_text(one)}{specifier}{marker}", place, index=sources.get(str(one.get("source")), ""))


def add_python(constraint: str, place: FileLine, into: StatementCollector) -> None:
    """Take what Poetry says of the interpreter."""
    specifier = pep440_specifier(constraint)
    if specifier is None:
        into.not_read(f"python = {constraint}", _POETRY_VERSION_NOTE, place, package=False)
    elif specifier:
        into.python(specifier, place)


def _marker_of_python(text: str) -> str:
    clauses = re.findall(r"(?<![<>=!~])([<>=!~]+)([\d.]+)", pep440_specifier(text) or "")
    return " and ".join(f"python_version {operator} '{version}'" for operator, version in clauses) or "python_version >= '2'"


def pep440_specifier(text: str) -> str | None:
    """Poetry's version constraint as PEP 440; None for alternatives, which PEP 440 lacks, and for what is no version."""
    clauses = [_pep440_clause(part.strip()) for part in re.split(r",|(?<=[\w*])\s+(?=[<>=!~^])", text.strip()) if part.strip()]
    return None if "|" in text or None in clauses else ",".join(filter(None, clauses))


def _pep440_clause(part: str) -> str | None:
    if part == "*":
        return ""
    if part[0] in "^~" and not part.startswith("~="):
        numbers = [int(number) for number in re.findall(r"\d+", part.partition("+")[0]) if len(number) <= _MAX_DIGITS][:3]
        if not numbers:
            return None
        if part[0] == "^":
            kept = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
        else:
            kept = min(1, len(numbers) - 1)
        upper = [*numbers[:kept], numbers[kept] + 1]
        return f">={part[1:].strip()},<{'.'.join(str(number) for number in upper)}"
    return part if part[0] in "<>=!~" else f"=={part}"
