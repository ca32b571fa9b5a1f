"""Writes the names of many nodes as a hostlist: gpu[001-040,043]."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence

from gpudoctor.report.fleet import Nodes
from gpudoctor.report.fleet_nodes import is_plain

_NUMBER = re.compile(r"0*(\d+)")
_BESIDE_DIGITS = f"{string.ascii_letters}._-"
"""The other characters of a plain name."""


def nodes(names: Iterable[str]) -> Nodes:
    """Return nodes in natural order, with their hostlist."""
    ordered = tuple(sorted(names, key=natural))
    return Nodes(len(ordered), folded(ordered), ordered)


def natural(name: str) -> str:
    """Return what sorts gpu9 before gpu10: each number follows the number of its digits."""
    return f"{_NUMBER.sub(lambda found: f'{len(found[1]):03}{found[1]}', name)} {name}"


def folded(names: Iterable[str]) -> str:
    """Return names as a hostlist. A name that no hostlist can hold stands in quotes at its end."""
    groups: dict[tuple[str, str], list[str]] = {}
    single: list[str] = []
    quoted: list[str] = []
    for name in names:
        if not is_plain(name):
            quoted.append(f'"{name}"')
            continue
        head, number, tail = _at_the_last_number(name)
        if number:
            groups.setdefault((head, tail), []).append(number)
        else:
            single.append(name)
    return ",".join((*single, *(f"{head}{_bracketed(numbers)}{tail}" for (head, tail), numbers in groups.items()), *quoted))


def _at_the_last_number(name: str) -> tuple[str, str, str]:
    """Return what is before the last number of a plain name, the number ("" if there is none), and what follows."""
    until = name.rstrip(_BESIDE_DIGITS)
    head = until.rstrip(string.digits)
    return head, until[len(head) :], name[len(until) :]


def _bracketed(numbers: Sequence[str]) -> str:
    """Return numbers as ranges in brackets: Slurm reads one pair of them in a name."""
    from ClusterShell.RangeSet import RangeSet  # noqa: PLC0415 -- 17 ms, and only a fleet has many names

    if len(numbers) == 1:
        return numbers[0]
    ranges = RangeSet()
    ranges.update(numbers)
    return f"[{ranges}]"
