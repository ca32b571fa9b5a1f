"""Finds the facts of a recorded machine on which an answer depends, and the values at which it changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from gpudoctor.errors import GpudoctorError
from tests.diagnose.conditions import ABOUT_ALL, Case, Told, answer, difference, family_of, file_of, kept
from tests.machines import golden, store

_VERSION: Final = re.compile(r"\d+(\.\d+)+")
_NUMBER: Final = re.compile(r"[\d.:]+")
_BISECTIONS: Final = 40
_MANY: Final = 4
_OUTSIDE: Final = {"version", "created", "origin", "remarks"}


_MACHINES: Final = {"everything": 11, "not-judged": 12, "required": 12}
"""How many machines are asked about at most; about a rule three."""
_CASES: Final = 30
"""How many changes of a machine are kept at most: those whose effect takes the fewest words."""
_LONGEST: Final = 700
"""Characters of an effect that is kept."""


def renewed(family: str, searched: Sequence[str]) -> Told:
    """Return a family's conditions with today's answers: those that are kept, and for the searched questions those that are found."""
    known = kept(family) if file_of(family).exists() else {}
    told: Told = {}
    for (question, name), cases in known.items():
        if question not in searched:
            before = answer(question, name)
            told[question, name] = {
                (pointer, value): difference(before, answer(question, name, {pointer: value})) for pointer, value in cases
            }
    for question in searched:
        if family_of(question) == family:
            seen: set[tuple[str, str]] = set()
            found = {(question, name): Search(question, name).cases(seen) for name in _machines(question)}
            told |= {key: cases for key, cases in found.items() if cases}
    return told


def _machines(question: str) -> list[str]:
    """Return machines on which the answer has other words each: of a rule those that show its finding."""
    texts = question == "everything"
    names = [
        name
        for name, said in golden.kept().items()
        if (store.recorded(name).origin == "text" if texts else question in ABOUT_ALL or f" {question} (" in said)
    ]
    shapes: dict[str, str] = {}
    for name in sorted(names, key=lambda name: len(store.RECORDED.snapshot(name))):
        shapes.setdefault(_NUMBER.sub("N", answer(question, name)), name)
    return [*shapes.values()][: _MACHINES.get(question, 3)]


class Search:
    """The search for one question about one machine."""

    def __init__(self, question: str, name: str) -> None:
        self._question, self._name = question, name
        self._before = answer(question, name)
        self._found: dict[Case, str] = {}

    def cases(self, seen: set[tuple[str, str]]) -> dict[Case, str]:
        """Return changes that change the answer, each unlike those that were seen before, which are added to."""
        for section, value in json.loads(store.RECORDED.snapshot(self._name)).items():
            if section not in _OUTSIDE:
                self._below(f"/{section}", value)
        return _chosen(self._found, seen)

    def _try(self, pointer: str, value: Any) -> str | None:
        """Return how the answer changes; None where the change makes no snapshot."""
        try:
            return difference(self._before, answer(self._question, self._name, {pointer: value}))
        except (GpudoctorError, KeyError, IndexError):
            return None

    def _note(self, pointer: str, value: Any) -> bool:
        said = self._try(pointer, value)
        if said is None:
            return True
        if said != "the same" and "crashed" not in said:
            self._found[pointer, value] = said
        return said != "the same"

    def _below(self, pointer: str, value: Any) -> None:
        """Look below a part of the snapshot, unless the answer is the same without it."""
        if isinstance(value, dict) and value.get("type") == "missing":
            return
        if isinstance(value, dict | list):
            if not value or not self._note(pointer, "unknown"):
                return
            for key, part in value.items() if isinstance(value, dict) else _ends(value):
                place = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
                if key == "type":
                    continue
                if isinstance(value, list):
                    self._note(place, None)
                self._below(place, part)
            return
        for changed in _near(value):
            self._note(pointer, changed)
        self._note(pointer, "unknown")
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._bounds(pointer, value)

    def _bounds(self, pointer: str, value: float) -> None:
        """Find neighbouring numbers whose answers are of different kinds."""
        whole = isinstance(value, int)
        for far in (0, value * 1000 + 1000):
            if _kind(self._try(pointer, far)) == "":
                continue
            near, beyond = value, far
            for _ in range(_BISECTIONS):
                middle = (near + beyond) // 2 if whole else round((near + beyond) / 2, 6)
                if middle in {near, beyond}:
                    break
                near, beyond = (middle, beyond) if _kind(self._try(pointer, middle)) == "" else (near, middle)
            for edge in (near, beyond):
                said = self._try(pointer, edge)
                if edge != value and said is not None and "crashed" not in said:
                    self._found[pointer, edge] = said


def _ends(values: list[Any]) -> list[tuple[int, Any]]:
    """Return the first two and the last of many values with their index: the others are like these."""
    numbered = [*enumerate(values)]
    return numbered if len(numbered) <= _MANY else [*numbered[:2], numbered[-1]]


def _kind(said: str | None) -> str:
    """Return the lines of a difference that are about whether, where and how gravely something is found."""
    return "\n".join(line for line in (said or "").splitlines() if not line[2:].startswith(" ") and line != "the same")


def _near(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        yield from (round(value * 1.1, 6), round(value / 1.1, 6))
    elif isinstance(value, str):
        if found := _VERSION.match(value):
            parts = found[0].split(".")
            for place in range(min(len(parts), 3)):
                for step in (1, -1):
                    if (number := int(parts[place]) + step) >= 0:
                        yield ".".join([*parts[:place], str(number), *parts[place + 1 :]]) + value[found.end() :]
        elif value:
            yield f"{value}x"


def _chosen(found: dict[Case, str], seen: set[tuple[str, str]]) -> dict[Case, str]:
    """Return the cases without those that differ from another one only in numbers."""
    distinct: dict[Case, str] = {}
    for (pointer, value), said in found.items():
        shape = re.sub(r"/\d+(?=/|$)", "/N", pointer), f"{value in {None, 'unknown'}} {said}"
        if shape not in seen and len(said) <= _LONGEST:
            seen.add(shape)
            distinct[pointer, value] = said
    shortest = sorted(distinct, key=lambda case: len(distinct[case]))[:_CASES]
    return {case: said for case, said in distinct.items() if case in shortest}
