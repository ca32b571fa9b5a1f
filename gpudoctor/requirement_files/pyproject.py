"""Reads pyproject.toml: dependencies, extras and groups as PEP 621 and PEP 735 write them, and the tables of uv and Poetry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.errors import UsageError
from gpudoctor.requirement_files import pixi, poetry
from gpudoctor.requirement_files.collector import Collector
from gpudoctor.requirement_files.files import LineFinder, origin_of, strings, table, tables
from gpudoctor.requirement_files.model import FileLine
from gpudoctor.requirement_files.requirements_txt import requirement
from gpudoctor.snapshot.distributions import normalise
from gpudoctor.toml_text import parsed


def read(text: str, file: str, into: Collector) -> None:
    """Take what a pyproject.toml asks for."""
    document, lines = parsed(text, file), LineFinder(text)
    project, uv = table(document, "project"), table(document, "tool", "uv")
    if isinstance(project.get("requires-python"), str):
        into.python(project["requires-python"], FileLine(file, lines.of("requires-python")))
    indexes = dict(_indexes(uv, file, lines, into))
    sources = {normalise(name): one for name, one in table(uv, "sources").items()}
    overrides = {_name(words): words for words in strings(uv.get("override-dependencies"))}
    for written in _dependencies(document, into, file):
        words = overrides.get(_name(written), written)
        _take(words, FileLine(file, lines.of(words)), into, sources, indexes)
    for words in (*strings(uv.get("constraint-dependencies")), *overrides.values()):
        requirement(words, FileLine(file, lines.of(words)), into, constraint=True)
    for name in strings(project.get("dynamic")):
        if name == "dependencies":
            into.not_read(
                "dynamic = dependencies", "the build backend computes them; pass the file it reads", FileLine(file, lines.of("dynamic"))
            )
    poetry.read_table(table(document, "tool", "poetry"), file, lines, into)
    pixi.read_table(table(document, "tool", "pixi"), file, lines, into)


def _dependencies(document: dict[str, Any], into: Collector, file: str) -> Iterator[str]:
    project = table(document, "project")
    yield from strings(project.get("dependencies"))
    for name, listed in table(project, "optional-dependencies").items():
        if into.wants_extra(name, file):
            yield from strings(listed)
    groups = {normalise(name): listed for name, listed in table(document, "dependency-groups").items()}
    groups = {"dev": table(document, "tool", "uv").get("dev-dependencies"), **groups}
    for name, listed in groups.items():
        if listed and into.wants_group(name, file):
            yield from _group(name, groups, file, ())


def _group(name: str, groups: dict[str, Any], file: str, above: tuple[str, ...]) -> Iterator[str]:
    if name in above:
        raise UsageError(f"{file}: the dependency group {name} includes itself; remove one include-group.")
    yield from strings(groups.get(name))
    for one in tables(groups.get(name)):
        if isinstance(included := one.get("include-group"), str):
            yield from _group(normalise(included), groups, file, (*above, name))


def _indexes(uv: dict[str, Any], file: str, lines: LineFinder, into: Collector) -> Iterator[tuple[str, str]]:
    """The URL of each named index; one that is not explicit serves all packages."""
    for one in tables(uv.get("index")):
        url = one.get("url")
        if isinstance(url, str):
            yield str(one.get("name", "")), url
            if not one.get("explicit"):
                into.index(url, FileLine(file, lines.of(url)), only=one.get("default") is True)
    for key in ("index-url", "extra-index-url"):
        for url in [uv[key]] if isinstance(uv.get(key), str) else strings(uv.get(key)):
            into.index(url, FileLine(file, lines.of(url)), only=key == "index-url")


def _take(words: str, place: FileLine, into: Collector, sources: dict[str, Any], indexes: dict[str, str]) -> None:
    name = _name(words)
    given = sources.get(name.rstrip("0123456789.<>,") if name not in sources else name)
    chosen = [one for one in (tables(given) or tables([given])) if _applies(one, into)]
    if not chosen:
        requirement(words, place, into)
    for one in chosen:
        marked = _marked(words, one.get("marker"))
        if isinstance(one.get("index"), str):
            into.text(marked, place, index=indexes.get(one["index"], one["index"]))
        elif isinstance(one.get("url"), str):
            requirement(f"{name} @ {one['url']}", place, into)
        else:
            into.not_read(words, f"tool.uv.sources takes it from {origin_of(one)}, which does not tell the release", place, name=name)


def _name(words: str) -> str:
    """The normalised name at the beginning of a requirement."""
    return normalise(words.partition(";")[0].partition("[")[0].split("@")[0].split("=")[0].rstrip("<>~!= ").split(" ")[0])


def _applies(source: dict[str, Any], into: Collector) -> bool:
    extra, group = source.get("extra"), source.get("group")
    return (not isinstance(extra, str) or normalise(extra) in into.extras) and (
        not isinstance(group, str) or normalise(group) in into.groups
    )


def _marked(words: str, marker: object) -> str:
    if not isinstance(marker, str) or not marker:
        return words
    head, _, before = words.partition(";")
    return f"{head.strip()} ; ({before.strip()}) and ({marker})" if before.strip() else f"{head.strip()} ; {marker}"
