"""Reads and compares requirements of Python packages. Versions are compared by `packaging`; what a marker needs may be unknown here.

packaging.requirements and packaging.markers take 12 ms to import, and have no answer for a marker that is only partly known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from packaging.specifiers import InvalidSpecifier, Specifier
from packaging.version import InvalidVersion, Version

from gpudoctor.snapshot.distributions import normalise_distribution

_LEXEME = r"""\s*("[^"]*"|'[^']*'|\(|\)|===|~=|==|!=|<=|>=|<|>|[A-Za-z_]+)"""
"""Compiled on first use: few requirements have markers."""
_OPERATORS = ("===", "~=", "==", "!=", "<=", ">=", "<", ">")
_MAX_VERSION_LENGTH, _MAX_LENGTH = 200, 4096
"""Characters of a version, requirement, marker or specifier; longer ones are not genuine."""
_LAST_PATCH = 99
"""Newer than any patch release of a Python."""
_MAX_DEPTH = 32
"""Nested parentheses of a marker."""
BESIDE_EXTRA = "beside"
"""In the tables the extra of what a release works with and does not require: an installer neither adds nor compares it."""


class Requirement(msgspec.Struct, frozen=True):
    """One requirement of a distribution's metadata."""

    text: str
    name: str
    """Normalised."""
    extras: tuple[str, ...]
    specifier: str
    marker: str


@functools.lru_cache(maxsize=8192)
def pep440_version(text: str) -> Version | None:
    """The version that `text` spells; None if PEP 440 does not allow it."""
    try:
        return Version(text) if len(text) <= _MAX_VERSION_LENGTH else None
    except InvalidVersion:
        return None


@functools.lru_cache(maxsize=8192)
def _parsed_comparison(operator: str, version: str) -> Specifier | None:
    """The comparison; None if it is invalid, or compares texts."""
    try:
        return Specifier(operator + version) if operator != "===" else None
    except InvalidSpecifier:
        return None


@functools.lru_cache(maxsize=512)
def clauses(specifier: str) -> tuple[tuple[str, str], ...] | None:
    """The comparisons of a specifier as (operator, version); None if it is invalid."""
    if len(specifier) > _MAX_LENGTH:
        return None
    found = []
    for part in (piece.strip() for piece in specifier.split(",")):
        operator = next((one for one in _OPERATORS if part.startswith(one)), "")
        version = part[len(operator) :].strip()
        if part and not (operator and version):
            return None
        if part:
            found.append((operator, version))
    return tuple(found)


@functools.lru_cache(maxsize=16384)
def only_version(specifier: str) -> str | None:
    """The one version that a specifier allows, which JAX writes >=0.7.1,<=0.7.1; None if it allows others or cannot be read."""
    said = [(operator, text) for operator, text in clauses(specifier) or () if not text.endswith(".*")]
    pins = [text for operator, text in said if operator in {"==", "==="}]
    return next(iter(pins), None) or next((text for operator, text in said if operator == "<=" and (">=", text) in said), None)


@functools.lru_cache(maxsize=65536)
def satisfies(version: str, specifier: str) -> bool | None:
    """Whether the specifier allows a version, pre-releases included; None if that cannot be decided."""
    parsed, parts = pep440_version(version), clauses(specifier)
    if parsed is None or parts is None:
        return None
    comparisons = [_parsed_comparison(operator, text) for operator, text in parts]
    answers = [None if comparison is None else comparison.contains(parsed, prereleases=True) for comparison in comparisons]
    return False if False in answers else None if None in answers else True


def allows_some(minor: str, specifier: str) -> bool:
    """Whether a specifier allows a patch release of a minor version ("3.10"): the first, the last, one that it names, or a neighbour of one."""
    numbers = tuple(int(number) for number in minor.split("."))
    named = [
        parsed
        for _, text in clauses(specifier) or ()
        if (parsed := pep440_version(text.removesuffix(".*"))) and parsed.release[:2] == numbers
    ]
    near = {parsed.micro + step for parsed in named for step in (-1, 0, 1)} - {-1}
    patches = (*(f"{minor}.{patch}" for patch in {0, _LAST_PATCH, *near}), *map(str, named))
    exact = ",".join(f"{operator.replace('===', '==')}{text}" for operator, text in clauses(specifier) or ())
    return any(satisfies(patch, exact) for patch in patches)


def is_below(version: str, specifier: str) -> bool:
    """Whether a version is older than the specifier allows."""
    lowest = {">=": ">=", ">": ">", "~=": ">=", "==": ">="}
    return any(
        satisfies(version, lowest[operator] + text.removesuffix(".*")) is False
        for operator, text in clauses(specifier) or ()
        if operator in lowest
    )


def allows_older(specifier: str, version: str) -> bool:
    """Whether the lower bounds of a specifier allow something older than a version."""
    lowest = (pep440_version(text.removesuffix(".*")) for operator, text in clauses(specifier) or () if operator not in {"<", "<=", "!="})
    than = pep440_version(version)
    return than is not None and all(bound is not None and bound < than for bound in lowest)


def are_contradictory(specifiers: tuple[str, ...]) -> bool:
    """Whether no version can satisfy all of them: the lowest that one demands is too new for another."""
    everything = [clause for specifier in specifiers for clause in clauses(specifier) or ()]
    least = [text.removesuffix(".*") for operator, text in everything if operator in {">", ">=", "==", "~="}]
    if not least or any(operator == "===" for operator, _ in everything):
        return False
    joined = ",".join(operator + text for operator, text in everything if operator not in {"!=", ">"})
    return all(satisfies(version, joined) is False for version in least)


@functools.lru_cache(maxsize=1024)
def parse_requirement(text: str) -> Requirement | None:
    """The requirement that a Requires-Dist line spells; None if it is invalid, or names an address instead of versions."""
    if len(text) > _MAX_LENGTH:
        return None
    head, _, marker = text.partition(";")
    written = head.strip()
    end = next((place for place, letter in enumerate(written) if not (letter.isalnum() or letter in "._-")), len(written))
    name, rest = written[:end], written[end:].strip()
    extras = ""
    if rest.startswith("["):
        extras, closed, rest = rest[1:].partition("]")
        if not closed:
            return None
    specifier = rest.strip().removeprefix("(").removesuffix(")")
    if not name[:1].isalnum() or not written.isascii() or clauses(specifier) is None:
        return None
    asked = tuple(extra.strip() for extra in extras.split(",") if extra.strip())
    return Requirement(
        text.removesuffix(f';extra=="{BESIDE_EXTRA}"'), normalise_distribution(name), asked, specifier.replace(" ", ""), marker.strip()
    )


def parse_requirements(texts: Iterable[str]) -> Iterator[Requirement]:
    """Yield the requirements that Requires-Dist lines spell, without those that are invalid or name an address."""
    return filter(None, map(parse_requirement, texts))


def is_of_extra(text: str) -> bool:
    """Whether a requirement, or its marker, applies only with an extra that somebody asked for."""
    return "extra" in text and not of_beside(text)


def of_beside(text: str) -> bool:
    """Whether a requirement, or its marker, states what a release works with and does not require."""
    return f'"{BESIDE_EXTRA}"' in text


def marker_holds(marker: str, environment: Mapping[str, str], extras: tuple[str, ...]) -> bool | None:
    """Whether an environment marker holds; None if it asks for what `environment` lacks, or is invalid."""
    if not marker:
        return True
    tokens = _marker_tokens(marker)
    if tokens is None:
        return None
    reader = _MarkerReader([*tokens], environment, extras)
    try:
        answer = reader.read_alternatives()
    except IndexError:
        return None
    return answer if not reader.tokens else None


@functools.lru_cache(maxsize=4096)
def _marker_tokens(marker: str) -> tuple[str, ...] | None:
    """The tokens of a marker; None if it is invalid."""
    if len(marker) > _MAX_LENGTH or marker.count("(") > _MAX_DEPTH:
        return None
    tokens: list[str] = []
    pattern, place = re.compile(_LEXEME), 0
    while place < len(marker.rstrip()):
        match = pattern.match(marker, place)
        if match is None:
            return None
        tokens.append(match[1])
        place = match.end()
    return tuple(tokens)


class _MarkerReader:
    """Evaluates a marker's tokens in order by the grammar of PEP 508; an unknown part makes the result unknown if it matters."""

    def __init__(self, tokens: list[str], environment: Mapping[str, str], extras: tuple[str, ...]) -> None:
        self.tokens = tokens
        self.environment = environment
        self.extras = extras

    def read_alternatives(self) -> bool | None:
        answer = self.both()
        while self.tokens[:1] == ["or"]:
            self.tokens.pop(0)
            other = self.both()
            answer = True if True in {answer, other} else None if None in {answer, other} else False
        return answer

    def both(self) -> bool | None:
        answer = self.one()
        while self.tokens[:1] == ["and"]:
            self.tokens.pop(0)
            other = self.one()
            answer = False if False in {answer, other} else None if None in {answer, other} else True
        return answer

    def one(self) -> bool | None:
        if self.tokens[0] == "(":
            self.tokens.pop(0)
            answer = self.read_alternatives()
            return answer if self.tokens.pop(0) == ")" else None
        left, operator = self.tokens.pop(0), self.tokens.pop(0)
        if operator == "not":
            operator += f" {self.tokens.pop(0)}"
        return self._compare(left, operator, self.tokens.pop(0))

    def _compare(self, left: str, operator: str, right: str) -> bool | None:
        if "extra" in {left, right}:
            wanted = normalise_distribution((right if left == "extra" else left).strip("\"'"))
            asked = wanted in {normalise_distribution(extra) for extra in self.extras}
            return asked if operator == "==" else not asked if operator == "!=" else None
        first, second = self._value(left), self._value(right)
        if first is None or second is None:
            return None
        if operator in {"in", "not in"}:
            return (first in second) is (operator == "in")
        if left.startswith("python_") or right.startswith("python_"):
            return satisfies(first, operator + second)
        return (first == second) is (operator == "==") if operator in {"==", "!="} else None

    def _value(self, token: str) -> str | None:
        return token[1:-1] if token[0] in "\"'" else self.environment.get(token)
