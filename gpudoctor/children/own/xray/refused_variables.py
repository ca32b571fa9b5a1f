"""Environment variables whose value a framework refuses while it is imported, by what the installed release accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpudoctor.children.own.xray.disk import Disk
from gpudoctor.frameworks.spec import AcceptedValues

_QUOTED = re.compile(r"[\"']([^\"'\n]*)[\"']")
_MOST_NAMED = 16
"""With more accepted values, none of them is named."""


def refused_variables(
    disk: Disk, site: str, checked: tuple[AcceptedValues, ...], environ: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield each variable that stops the import of the package in the folder `site`: its name, its value and what is wrong with it."""
    for accepted in checked:
        for name in filter(re.compile(accepted.variable).fullmatch, sorted(environ)):
            values = _accepted_values(accepted, name, disk.text(f"{site}/{accepted.file}"))
            words = _words(environ[name], accepted) if values is not None else []
            wrong = next((word for word in words if not _is_accepted(word, values or frozenset(), accepted, disk)), None)
            if wrong is not None:
                yield name, environ[name], accepted.why or _reason(wrong, values or frozenset())


def _reason(word: str, values: frozenset[str]) -> str:
    told = f"{word!r} is not accepted"
    return f"{told}, only {', '.join(sorted(values))}" if len(values) <= _MOST_NAMED else told


def _accepted_values(accepted: AcceptedValues, name: str, source: str) -> frozenset[str] | None:
    """What the file says it accepts; None if it does not say."""
    found = re.search(accepted.pattern.replace("NAME", re.escape(name.lower())), source)
    if not source or found is None:
        return None
    if accepted.refused:
        return frozenset()
    listed = re.findall(accepted.each, source) if accepted.each else () if accepted.values else _QUOTED.findall(found[1])
    return frozenset((*accepted.values, *listed)) or None


def _words(value: str, accepted: AcceptedValues) -> list[str]:
    if accepted.is_list:
        return [word.lstrip("+-") for word in re.sub(r"\s+", "", value).split(",")] if value else []
    return [value]


def _is_accepted(word: str, values: frozenset[str], accepted: AcceptedValues, disk: Disk) -> bool:
    if accepted.refused:
        return re.fullmatch(accepted.refused, word) is None
    return (word.lower() if accepted.any_case else word) in values or (accepted.or_module and bool(word) and disk.finds(word))
