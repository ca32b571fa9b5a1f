"""Reads Pipfile.lock."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.files import LineFinder, extras_text, nested_table, tables_of_list
from gpudoctor.requirement_files.model import FileLine
from gpudoctor.snapshot.distributions import normalise_distribution


def read(text: str, file: str, into: StatementCollector) -> None:
    """Take the locked packages, those of develop only with the group dev."""
    try:
        document = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{file} is not valid JSON; make it again with `pipenv lock`.") from None
    lines = LineFinder(text)
    meta = nested_table(document, "_meta") if isinstance(document, dict) else {}
    sources = {str(one.get("name")): str(one.get("url", "")) for one in tables_of_list(meta.get("sources"))}
    version = nested_table(meta, "requires").get("python_version")
    if isinstance(version, str):
        into.python(f"=={version}.*", FileLine(file, lines.of("python_version")))
    sections = ["default", *(["develop"] if nested_table(document, "develop") and into.is_group_wanted("dev", file) else [])]
    for name, one in (item for section in sections for item in nested_table(document, section).items()):
        _add_package(name, one if isinstance(one, dict) else {}, FileLine(file, lines.of(f'"{name}"')), into, sources)


def _add_package(name: str, one: dict[str, Any], place: FileLine, into: StatementCollector, sources: dict[str, str]) -> None:
    version = one.get("version")
    if not isinstance(version, str):
        into.not_read(
            name, "it is installed from a folder or a repository, which does not tell the release", place, name=normalise_distribution(name)
        )
        return
    marker = f" ; {one['markers']}" if isinstance(one.get("markers"), str) else ""
    index = sources.get(str(one.get("index")), "")
    into.text(f"{name}{extras_text(one)}{version}{marker}", place, index=index)
