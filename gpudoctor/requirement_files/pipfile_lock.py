"""Reads Pipfile.lock."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.requirement_files.collector import Collector
from gpudoctor.requirement_files.files import LineFinder, extras_of, table, tables
from gpudoctor.requirement_files.model import FileLine
from gpudoctor.snapshot.distributions import normalise


def read(text: str, file: str, into: Collector) -> None:
    """Take the locked packages, those of develop only with the group dev."""
    try:
        document = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{file} is not valid JSON; make it again with `pipenv lock`.") from None
    lines = LineFinder(text)
    meta = table(document, "_meta") if isinstance(document, dict) else {}
    sources = {str(one.get("name")): str(one.get("url", "")) for one in tables(meta.get("sources"))}
    version = table(meta, "requires").get("python_version")
    if isinstance(version, str):
        into.python(f"=={version}.*", FileLine(file, lines.of("python_version")))
    sections = ["default", *(["develop"] if table(document, "develop") and into.wants_group("dev", file) else [])]
    for name, one in (item for section in sections for item in table(document, section).items()):
        _take(name, one if isinstance(one, dict) else {}, FileLine(file, lines.of(f'"{name}"')), into, sources)


def _take(name: str, one: dict[str, Any], place: FileLine, into: Collector, sources: dict[str, str]) -> None:
    version = one.get("version")
    if not isinstance(version, str):
        into.not_read(name, "it is installed from a folder or a repository, which does not tell the release", place, name=normalise(name))
        return
    marker = f" ; {one['markers']}" if isinstance(one.get("markers"), str) else ""
    index = sources.get(str(one.get("index")), "")
    into.text(f"{name}{extras_of(one)}{version}{marker}", place, index=index)
