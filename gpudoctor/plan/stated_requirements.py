"""The requirements that the user states: PEP 508, each name once, no files or addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Reference

from gpudoctor.derive.specifiers import (
    Requirement,
    are_contradictory,
    clauses,
    marker_holds,
    only_version,
    parse_requirement,
    pep440_version,
    satisfies,
)
from gpudoctor.errors import UsageError
from gpudoctor.requirement_files.collector import requirement_of_wheel

_EXAMPLE_ADVICE = "write 'torch==2.5.1' or 'tensorflow[and-cuda]>=2.16'"
_SPECIFIER_FORM = r"[<>=!~][^();@\[\]]*"
_REQUIREMENT_FORM = re.compile(
    rf"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\s*(?:\[\s*(?:[\w.-]+\s*(?:,\s*[\w.-]+\s*)*)?\]\s*)?(?:\(\s*{_SPECIFIER_FORM}\)|{_SPECIFIER_FORM})?\s*(?:;.*)?"
)
"""A name, extras, versions, a marker; the parser that reads metadata is more lenient."""


def stated_requirements(
    texts: Iterable[str], environment: Mapping[str, str], places: Mapping[str, str] = MappingProxyType({})
) -> tuple[dict[str, Requirement], tuple[str, ...]]:
    """The requirements by normalised name, and those that their marker excludes here; `places` says where each was read.

    Raises UsageError for invalid requirements, files and addresses, and contradictions.
    """
    found: dict[str, Requirement] = {}
    left_out = []
    for text in texts:
        wanted = _parsed_requirement(text.strip())
        if marker_holds(wanted.marker, environment, ()) is False:
            left_out.append(text)
            continue
        found[wanted.name] = joined_requirement(found[wanted.name], wanted, places) if wanted.name in found else wanted
    if left_out and not found:
        raise UsageError(f"No requirement applies: the marker of {' and '.join(map(repr, left_out))} excludes this Python and system.")
    return found, tuple(left_out)


def _parsed_requirement(text: str) -> Requirement:
    if re.fullmatch(r"[^/\\@]+\.whl", text):
        text = str(requirement_of_wheel(text) or f"./{text}")
    wanted = parse_requirement(text)
    if wanted is None or not _REQUIREMENT_FORM.fullmatch(text) or not _is_valid(wanted):
        if re.search(r"@|[/\\]|\.whl$", text):
            raise UsageError(
                f"{text!r} is a file or an address, and only releases can be checked before they are installed; {_EXAMPLE_ADVICE}."
            )
        raise UsageError(f"{text!r} is not a requirement; {_EXAMPLE_ADVICE}.")
    pin = only_version(wanted.specifier)
    if pin is not None and satisfies(pin, wanted.specifier) is False:
        raise UsageError(f"{text!r} contradicts itself; name one version.")
    return wanted


def _is_valid(wanted: Requirement) -> bool:
    """Whether every version is valid, and the reference implementation accepts the marker."""
    if not all(pep440_version(version.removesuffix(".*")) for _, version in clauses(wanted.specifier) or ()):
        return False
    if not wanted.marker:
        return ";" not in wanted.text
    try:
        return bool(Reference(wanted.text))
    except InvalidRequirement:
        return False


def joined_requirement(first: Requirement, second: Requirement, places: Mapping[str, str] = MappingProxyType({})) -> Requirement:
    """Two statements about one package as one. Raises UsageError if no version satisfies both."""
    specifier = ",".join(filter(None, (first.specifier, second.specifier)))
    pin = only_version(specifier)
    if (pin is not None and satisfies(pin, specifier) is False) or are_contradictory((first.specifier, second.specifier)):
        told = (f"{wanted.text!r}{f' ({places[wanted.text]})' if wanted.text in places else ''}" for wanted in (first, second))
        raise UsageError(f"{' and '.join(told)} contradict each other; name {first.name} once.")
    extras = tuple(dict.fromkeys((*first.extras, *second.extras)))
    return Requirement(f"{first.text} and {second.text}", first.name, extras, specifier, first.marker)
