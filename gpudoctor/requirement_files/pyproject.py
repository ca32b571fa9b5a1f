"""Reads pyproject.toml: dependencies, extras and groups as PEP 621 and PEP 735 write them, and the tables of uv and Poetry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.errors import UsageError
from gpudoctor.requirement_files import pixi, poetry
from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.files import LineFinder, nested_table, origin_words, strings_of_list, tables_of_list
from gpudoctor.requirement_files.model import FileLine
from gpudoctor.requirement_files.requirements_txt import add_requirement
from gpudoctor.snapshot.distributions import normalise_distribution
from gpudoctor.toml_text import parse_toml


def read(text: str, file: str, into: StatementCollector) -> None:
    """Take what a pyproject.toml asks for."""
    document, lines = parse_toml(text, file), LineFinder(text)
    project, uv = nested_table(document, "project"), nested_table(document, "tool", "uv")
    if isinstance(project.get("requires-python"), str):
        into.python(project["requires-python"], FileLine(file, lines.of("requires-python")))
    indexes = dict(_named_indexes(uv, file, lines, into))
    sources = {normalise_distribution(name): one for name, one in nested_table(uv, "sources").items()}
    overrides = {_dependency_name(words): words for words in strings_of_list(uv.get("override-dependencies"))}
    for written in _wanted_dependencies(document, into, file):
        words = overrides.get(_dependency_name(written), written)
        _add_dependency(words, FileLine(file, lines.of(words)), into, sources, indexes)
    for words in (*strings_of_list(uv.get("constraint-dependencies")), *overrides.values()):
        add_requirement(words, FileLine(file, lines.of(words)), into, constraint=True)
    for name in strings_of_list(project.get("dynamic")):
        if name == "dependencies":
            into.not_read(
                "dynamic = dependencies", "the build backend computes them; pass the file it reads", FileLine(file, lines.of("dynamic"))
            )
    poetry.read_table(nested_table(document, "tool", "poetry"), file, lines, into)
    pixi.read_table(nested_table(document, "tool", "pixi"), file, lines, into)


def _wanted_dependencies(document: dict[str, Any], into: StatementCollector, file: str) -> Iterator[str]:
    project = nested_table(document, "project")
    yield from strings_of_list(project.get("dependencies"))
    for name, listed in nested_table(project, "optional-dependencies").items():
        if into.is_extra_wanted(name, file):
            yield from strings_of_list(listed)
    groups = {normalise_distribution(name): listed for name, listed in nested_table(document, "dependency-groups").items()}
    groups = {"dev": nested_table(document, "tool", "uv").get("dev-dependencies"), **groups}
    for name, listed in groups.items():
        if listed and into.is_group_wanted(name, file):
            yield from _group_dependencies(name, groups, file, ())


def _group_dependencies(name: str, groups: dict[str, Any], file: str, above: tuple[str, ...]) -> Iterator[str]:
    if name in above:
        raise UsageError(f"{file}: the dependency group {name} includes itself; remove one include-group.")
    yield from strings_of_list(groups.get(name))
    for one in tables_of_list(groups.get(name)):
        if isinstance(included := one.get("include-group"), str):
            yield from _group_dependencies(normalise_distribution(included), groups, file, (*above, name))


def _named_indexes(uv: dict[str, Any], file: str, lines: LineFinder, into: StatementCollector) -> Iterator[tuple[str, str]]:
    """The URL of each named index; one that is not explicit serves all packages."""
    for one in tables_of_list(uv.get("index")):
        url = one.get("url")
        if isinstance(url, str):
            yield str(one.get("name", "")), url
            if not one.get("explicit"):
                into.index(url, FileLine(file, lines.of(url)), only=one.get("default") is True)
    for key in ("index-url", "extra-index-url"):
        for url in [uv[key]] if isinstance(uv.get(key), str) else strings_of_list(uv.get(key)):
            into.index(url, FileLine(file, lines.of(url)), only=key == "index-url")


def _add_dependency(words: str, place: FileLine, into: StatementCollector, sources: dict[str, Any], indexes: dict[str, str]) -> None:
    name = _dependency_name(words)
    given = sources.get(name.rstrip("0123456789.<>,") if name not in sources else name)
    chosen = [one for one in (tables_of_list(given) or tables_of_list([given])) if _is_source_applicable(one, into)]
    if not chosen:
        add_requirement(words, place, into)
    for one in chosen:
        marked = _with_marker(words, one.get("marker"))
        if isinstance(one.get("index"), str):
            into.text(marked, place, index=indexes.get(one["index"], one["index"]))
        elif isinstance(one.get("url"), str):
            add_requirement(f"{name} @ {one['url']}", place, into)
        else:
            into.not_read(words, f"tool.uv.sources takes it from {origin_words(one)}, which does not tell the release", place, name=name)


def _dependency_name(words: str) -> str:
    """The normalised name at the beginning of a requirement."""
    return normalise_distribution(words.partition(";")[0].partition("[")[0].split("@")[0].split("=")[0].rstrip("<>~!= ").split(" ")[0])


def _is_source_applicable(source: dict[str, Any], into: StatementCollector) -> bool:
    extra, group = source.get("extra"), source.get("group")
    return (not isinstance(extra, str) or normalise_distribution(extra) in into.extras) and (
        not isinstance(group, str) or normalise_distribution(group) in into.groups
    )


def _with_marker(words: str, marker: object) -> str:
    if not isinstance(marker, str) or not marker:
        return words
    head, _, before = words.partition(";")
    return f"{head.strip()} ; ({before.strip()}) and ({marker})" if before.strip() else f"{head.strip()} ; {marker}"
