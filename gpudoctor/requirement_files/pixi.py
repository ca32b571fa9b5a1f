"""Reads pixi.toml, and the table of pixi in pyproject.toml: packages of conda and of the package index, and features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudoctor.requirement_files import conda
from gpudoctor.requirement_files.collector import StatementCollector
from gpudoctor.requirement_files.files import LineFinder, extras_text, nested_table, origin_words, strings_of_list
from gpudoctor.requirement_files.model import FileLine
from gpudoctor.snapshot.distributions import normalise_distribution
from gpudoctor.toml_text import parse_toml


def read(text: str, file: str, into: StatementCollector) -> None:
    """Take what a pixi.toml asks for."""
    read_table(parse_toml(text, file), file, LineFinder(text), into)


def read_table(pixi: dict[str, Any], file: str, lines: LineFinder, into: StatementCollector) -> None:
    """Take the packages of the default environment, and of the features that were named as groups."""
    for part in (pixi, *_wanted_features(pixi, file, into)):
        for name, given in nested_table(part, "dependencies").items():
            one = given if isinstance(given, dict) else {"version": given}
            conda.add_package((name, str(one.get("version", "*")), str(one.get("build", ""))), FileLine(file, lines.of(name)), into)
        for name, given in nested_table(part, "pypi-dependencies").items():
            _add_index_package(name, given if isinstance(given, dict) else {"version": given}, FileLine(file, lines.of(name)), into)
        for platform in nested_table(part, "target"):
            into.not_read(f"target.{platform}", "it applies to one platform", FileLine(file, lines.of(f"target.{platform}")), package=False)


def _wanted_features(pixi: dict[str, Any], file: str, into: StatementCollector) -> Iterator[dict[str, Any]]:
    environments = nested_table(pixi, "environments")
    default = strings_of_list(nested_table(environments, "default").get("features", environments.get("default")))
    for name, feature in nested_table(pixi, "feature").items():
        if (name in default or into.is_group_wanted(name, file)) and isinstance(feature, dict):
            yield feature


def _add_index_package(name: str, one: dict[str, Any], place: FileLine, into: StatementCollector) -> None:
    version = one.get("version")
    if not isinstance(version, str):
        into.not_read(
            f"{name} = {one}",
            f"it comes from {origin_words(one)}, which does not tell the release",
            place,
            name=normalise_distribution(name),
        )
        return
    index = one.get("index")
    into.text(f"{name}{extras_text(one)}{'' if version == '*' else version}", place, index=index if isinstance(index, str) else "")
