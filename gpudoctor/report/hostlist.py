"""Writes the names of many nodes as a hostlist: gpu[001-040,043]."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpudoctor.report.fleet import Nodes
from gpudoctor.report.fleet_nodes import is_plain

_DIGITS = re.compile(r"(\d+)")


def nodes(names: Iterable[str]) -> Nodes:
    """Return nodes in natural order, with their hostlist."""
    ordered = tuple(sorted(names, key=natural))
    return Nodes(len(ordered), folded(ordered), ordered)


def natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Return what sorts gpu9 before gpu10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name)], name


def folded(names: Iterable[str]) -> str:
    """Return names as a hostlist. A name that no hostlist can hold stands in quotes at its end."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415 -- 17 ms, and only a fleet has many names

    plain: list[str] = []
    others: list[str] = []
    for name in names:
        (plain if is_plain(name) else others).append(name)
    made = NodeSet.fromlist(plain, resolver=RESOLVER_NOGROUP)
    made.fold_axis = (-1,)  # Slurm reads one pair of brackets a name
    return ",".join(filter(None, (str(made), *(f'"{name}"' for name in others))))
