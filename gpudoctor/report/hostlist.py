"""Writes the names of many nodes as a hostlist: gpu[001-040,043]."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

from gpudoctor.report.fleet import Nodes
from gpudoctor.report.fleet_nodes import is_plain_name

_NUMBER_FORM = re.compile(r"0*(\d+)")
_BESIDE_DIGITS = f"{string.ascii_letters}._-"
"""The other characters of a plain name."""


def nodes_of_names(names: Iterable[str]) -> Nodes:
    """Return nodes in natural order, with their hostlist."""
    ordered = tuple(sorted(names, key=natural_sort_key))
    return Nodes(len(ordered), folded_hostlist(ordered), ordered)


def natural_sort_key(name: str) -> str:
    """Return what sorts gpu9 before gpu10: each number follows the number of its digits."""
    return f"{_NUMBER_FORM.sub(lambda found: f'{len(found[1]):03}{found[1]}', name)} {name}"


def folded_hostlist(names: Iterable[str]) -> str:
    """Return names in natural order as a hostlist. A name that no hostlist can hold stands in quotes at its end."""
    groups: dict[tuple[str, str], _Ranges] = {}
    single: list[str] = []
    quoted: list[str] = []
    for name in names:
        if not is_plain_name(name):
            quoted.append(f'"{name}"')
            continue
        head, number, tail = _split_at_number(name)
        if number:
            groups.setdefault((head, tail), _Ranges()).add(number)
        else:
            single.append(name)
    return ",".join((*single, *(f"{head}{ranges}{tail}" for (head, tail), ranges in groups.items()), *quoted))


class _Ranges:
    """Numbers that came in order, as ranges in brackets: Slurm reads one pair of them in a name."""

    def __init__(self) -> None:
        self._ends: list[tuple[str, str]] = []
        self._awaited: dict[str, int] = {}
        """The place of a range by the number that would lengthen it: 9 and 09 may both be there."""

    def add(self, number: str) -> None:
        """Add a number."""
        place = self._awaited.pop(number, None)
        if place is None:
            place = len(self._ends)
            self._ends.append((number, number))
        else:
            self._ends[place] = (self._ends[place][0], number)
        following = str(int(number) + 1).zfill(len(number))
        if len(following) == len(number) or not self._ends[place][0].startswith("0"):
            self._awaited[following] = place

    def __str__(self) -> str:
        said = ",".join(first if first == last else f"{first}-{last}" for first, last in self._ends)
        return f"[{said}]" if {"-", ","} & set(said) else said


def _split_at_number(name: str) -> tuple[str, str, str]:
    """Return what is before the last number of a plain name, the number ("" if there is none), and what follows."""
    until = name.rstrip(_BESIDE_DIGITS)
    head = until.rstrip(string.digits)
    return head, until[len(head) :], name[len(until) :]
