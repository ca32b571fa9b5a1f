"""Reads and compares requirements of Python packages: the part of PEP 440 and PEP 508 that published metadata uses.

`packaging` takes 20 ms to import, a third of an empty command; tests compare this module with it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping

import msgspec

from gpudoctor.snapshot.distributions import normalise

_VERSION = (
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[._-]?(?P<pre>alpha|beta|preview|pre|a|b|c|rc)[._-]?(?P<pre_number>\d*))?"
    r"(?P<post>-\d+|[._-]?(?:post|rev|r)[._-]?\d*)?"
    r"(?P<dev>[._-]?dev[._-]?\d*)?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[._-][a-z0-9]+)*))?"
)
_LEXEME = r"""\s*("[^"]*"|'[^']*'|\(|\)|===|~=|==|!=|<=|>=|<|>|[A-Za-z_]+)"""
_NUMBER = r"\d+"
# patterns are compiled on first use: most versions are plain numbers and few requirements have markers
_PRE = {"alpha": "a", "beta": "b", "preview": "rc", "pre": "rc", "c": "rc"}
_OPERATORS = ("===", "~=", "==", "!=", "<=", ">=", "<", ">")
_LAST = 1 << 62
_LONGEST_VERSION, _LONGEST = 200, 4096
"""Characters of a version, requirement, marker or specifier; longer ones are not genuine."""
_DEEPEST = 32
"""Nested parentheses of a marker."""


class Key(msgspec.Struct, frozen=True):
    """A PEP 440 version in comparable parts."""

    release: tuple[int, ...]
    """Without trailing zeros."""
    pre: tuple[str, int]
    """("a", 1); ("", 0) for a development release of a final one, ("z", 0) for a final release."""
    post: int
    """-1 if there is none."""
    dev: int
    """The largest number if there is none."""
    local: str

    @property
    def order(self) -> tuple[tuple[int, ...], tuple[str, int], int, int]:
        """PEP 440's order, without the local version."""
        return self.release, self.pre, self.post, self.dev

    @property
    def early(self) -> bool:
        """Whether it is a pre-release or a development release."""
        return self.pre != ("z", 0) or self.dev != _LAST


class Requirement(msgspec.Struct, frozen=True):
    """One requirement of a distribution's metadata."""

    text: str
    name: str
    """Normalised."""
    extras: tuple[str, ...]
    specifier: str
    marker: str


def _number(text: str | None) -> int:
    found = re.search(_NUMBER, text or "")
    return int(found[0]) if found else 0


def _numbers(text: str) -> tuple[int, ...]:
    """Dotted numbers without trailing zeros."""
    release = [int(part) for part in text.split(".")]
    while release and not release[-1]:
        release.pop()
    return tuple(release)


@functools.lru_cache(maxsize=512)
def key(text: str) -> Key | None:
    """The version that `text` spells; None if PEP 440 does not allow it (epochs are not supported)."""
    if len(text) > _LONGEST_VERSION:
        return None
    written = text.strip().lower()
    if written.isascii() and all(part.isdigit() for part in written.split(".")):
        return Key(_numbers(written), ("z", 0), -1, _LAST, "")
    found = re.fullmatch(_VERSION, written)
    if found is None:
        return None
    pre = (_PRE.get(found["pre"], found["pre"]), _number(found["pre_number"])) if found["pre"] else ("z", 0)
    if pre == ("z", 0) and found["dev"] and not found["post"]:
        pre = ("", 0)
    post = _number(found["post"]) if found["post"] else -1
    local = (found["local"] or "").replace("_", ".").replace("-", ".")
    return Key(_numbers(found["release"]), pre, post, _number(found["dev"]) if found["dev"] else _LAST, local)


def _equal(version: Key, text: str) -> bool | None:
    if text.endswith(".*"):
        return _begins(version, text[:-2])
    bound = key(text)
    if bound is None:
        return None
    return version.order == bound.order and (not bound.local or version.local == bound.local)


def _begins(version: Key, text: str) -> bool | None:
    bound = key(text)
    if bound is None:
        return None
    parts = re.findall(_NUMBER, text)
    padded = (*version.release, *(0,) * (len(parts) - len(version.release)))
    return padded[: len(parts)] == tuple(int(part) for part in parts)


def _less(version: Key, bound: Key) -> bool:
    """Exclusive: 3.0rc1 is not below 3.0, unless a pre-release was named."""
    before = version.early and not bound.early and version.release == bound.release
    return version.order < bound.order and not before


def _greater(version: Key, bound: Key) -> bool:
    """Exclusive: 3.0.post1 is not above 3.0, unless a post release was named."""
    post = version.post >= 0 > bound.post and (version.release, version.pre) == (bound.release, bound.pre)
    return version.order > bound.order and not post


def _compatible(version: Key, text: str, bound: Key) -> bool | None:
    release = re.match(r"\s*v?(\d+(?:\.\d+)*)", text.lower())
    parts = release[1].split(".") if release else []
    if len(parts) < 2:
        return None
    prefix = _begins(version, ".".join(parts[:-1]))
    return version.order >= bound.order and prefix is True


_ORDERED: dict[str, Callable[[Key, Key], bool]] = {
    ">=": lambda version, bound: version.order >= bound.order,
    "<=": lambda version, bound: version.order <= bound.order,
    "<": _less,
    ">": _greater,
}


def _clause(version: Key, operator: str, text: str) -> bool | None:
    if operator in {"==", "!="}:
        same = _equal(version, text)
        return same if same is None or operator == "==" else not same
    bound = key(text)
    if bound is None or operator == "===":
        return None
    return _compatible(version, text, bound) if operator == "~=" else _ORDERED[operator](version, bound)


@functools.lru_cache(maxsize=512)
def clauses(specifier: str) -> tuple[tuple[str, str], ...] | None:
    """The comparisons of a specifier as (operator, version); None if it is invalid."""
    if len(specifier) > _LONGEST:
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
def satisfies(version: str, specifier: str) -> bool | None:
    """Whether the specifier allows a version, pre-releases included; None if that cannot be decided."""
    parsed, parts = key(version), clauses(specifier)
    if parsed is None or parts is None:
        return None
    answers = [_clause(parsed, operator, text) for operator, text in parts]
    return False if False in answers else None if None in answers else True


def below(version: str, specifier: str) -> bool:
    """Whether a version is older than the specifier allows."""
    lowest = {">=": ">=", ">": ">", "~=": ">=", "==": ">="}
    return any(
        satisfies(version, lowest[operator] + text.removesuffix(".*")) is False
        for operator, text in clauses(specifier) or ()
        if operator in lowest
    )


def contradict(specifiers: tuple[str, ...]) -> bool:
    """Whether no version can satisfy all of them: the lowest that one demands is too new for another."""
    everything = [clause for specifier in specifiers for clause in clauses(specifier) or ()]
    least = [text.removesuffix(".*") for operator, text in everything if operator in {">", ">=", "==", "~="}]
    if not least or any(operator == "===" for operator, _ in everything):
        return False
    joined = ",".join(operator + text for operator, text in everything if operator not in {"!=", ">"})
    return all(satisfies(version, joined) is False for version in least)


@functools.lru_cache(maxsize=1024)
def requirement(text: str) -> Requirement | None:
    """The requirement that a Requires-Dist line spells; None if it is invalid, or names an address instead of versions."""
    if len(text) > _LONGEST:
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
    return Requirement(text, normalise(name), asked, specifier.replace(" ", ""), marker.strip())


def holds(marker: str, environment: Mapping[str, str], extras: tuple[str, ...]) -> bool | None:
    """Whether an environment marker holds; None if it asks for what `environment` lacks, or is invalid."""
    if not marker:
        return True
    if len(marker) > _LONGEST or marker.count("(") > _DEEPEST:
        return None
    tokens: list[str] = []
    pattern, place = re.compile(_LEXEME), 0
    while place < len(marker.rstrip()):
        match = pattern.match(marker, place)
        if match is None:
            return None
        tokens.append(match[1])
        place = match.end()
    reader = _Marker(tokens, environment, extras)
    try:
        answer = reader.either()
    except IndexError:
        return None
    return answer if not reader.tokens else None


class _Marker:
    """Evaluates a marker's tokens in order by the grammar of PEP 508; an unknown part makes the result unknown if it matters."""

    def __init__(self, tokens: list[str], environment: Mapping[str, str], extras: tuple[str, ...]) -> None:
        self.tokens = tokens
        self.environment = environment
        self.extras = extras

    def either(self) -> bool | None:
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
            answer = self.either()
            return answer if self.tokens.pop(0) == ")" else None
        left, operator = self.tokens.pop(0), self.tokens.pop(0)
        if operator == "not":
            operator += f" {self.tokens.pop(0)}"
        return self._compare(left, operator, self.tokens.pop(0))

    def _compare(self, left: str, operator: str, right: str) -> bool | None:
        if "extra" in {left, right}:
            wanted = normalise((right if left == "extra" else left).strip("\"'"))
            asked = wanted in {normalise(extra) for extra in self.extras}
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
