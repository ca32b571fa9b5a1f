"""Writes the names of many nodes as a hostlist: gpu[001-040,043]."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpudoctor.report.fleet import Nodes
from gpudoctor.report.fleet_nodes import is_plain

_NUMBER = re.compile(r"0*(\d+)")
_LAST_NUMBER = re.compile(r"(.*?)(\d+)(\D*)")


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
        found = _LAST_NUMBER.fullmatch(name) if is_plain(name) else None
        if found is not None:
            groups.setdefault((found[1], found[3]), []).append(found[2])
        elif is_plain(name):
            single.append(name)
        else:
            quoted.append(f'"{name}"')
    return ",".join((*single, *(f"{head}{_bracketed(numbers)}{tail}" for (head, tail), numbers in groups.items()), *quoted))


def _bracketed(numbers: Sequence[str]) -> str:
    """Return numbers as ranges in brackets: Slurm reads one pair of them in a name."""
    from ClusterShell.RangeSet import RangeSet  # noqa: PLC0415 -- 17 ms, and only a fleet has many names

    if len(numbers) == 1:
        return numbers[0]
    ranges = RangeSet()
    ranges.update(numbers)
    return f"[{ranges}]"
