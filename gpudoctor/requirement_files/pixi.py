"""Reads pixi.toml, and the table of pixi in pyproject.toml: packages of conda and of the package index, and features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.requirement_files import conda
from gpudoctor.requirement_files.collector import Collector
from gpudoctor.requirement_files.files import LineFinder, extras_of, origin_of, strings, table
from gpudoctor.requirement_files.model import FileLine
from gpudoctor.snapshot.distributions import normalise
from gpudoctor.toml_text import parsed


def read(text: str, file: str, into: Collector) -> None:
    """Take what a pixi.toml asks for."""
    read_table(parsed(text, file), file, LineFinder(text), into)


def read_table(pixi: dict[str, Any], file: str, lines: LineFinder, into: Collector) -> None:
    """Take the packages of the default environment, and of the features that were named as groups."""
    for part in (pixi, *_features(pixi, file, into)):
        for name, given in table(part, "dependencies").items():
            one = given if isinstance(given, dict) else {"version": given}
            conda.package((name, str(one.get("version", "*")), str(one.get("build", ""))), FileLine(file, lines.of(name)), into)
        for name, given in table(part, "pypi-dependencies").items():
            _of_the_index(name, given if isinstance(given, dict) else {"version": given}, FileLine(file, lines.of(name)), into)
        for platform in table(part, "target"):
            into.not_read(f"target.{platform}", "it applies to one platform", FileLine(file, lines.of(f"target.{platform}")), package=False)


def _features(pixi: dict[str, Any], file: str, into: Collector) -> Iterator[dict[str, Any]]:
    environments = table(pixi, "environments")
    default = strings(table(environments, "default").get("features", environments.get("default")))
    for name, feature in table(pixi, "feature").items():
        if (name in default or into.wants_group(name, file)) and isinstance(feature, dict):
            yield feature


def _of_the_index(name: str, one: dict[str, Any], place: FileLine, into: Collector) -> None:
    version = one.get("version")
    if not isinstance(version, str):
        into.not_read(f"{name} = {one}", f"it comes from {origin_of(one)}, which does not tell the release", place, name=normalise(name))
        return
    index = one.get("index")
    into.text(f"{name}{extras_of(one)}{'' if version == '*' else version}", place, index=index if isinstance(index, str) else "")
