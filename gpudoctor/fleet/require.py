"""What `fleet --require` accepts: "nodes>=32", "gpus>=256" and "same:driver", about the usable nodes."""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.findings.naming import agree, counted, joined, tally
from gpudoctor.findings.summary import Summary
from gpudoctor.fleet.places import Runs, among
from gpudoctor.fleet.roster import Roster
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.nearest import suggestion
from gpudoctor.report.fleet import Requirement

_COMPARED: Final = {">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt}
_NUMBER: Final = re.compile(rf"(nodes|gpus)\s*({'|'.join(_COMPARED)})\s*(\d{{1,9}})")
_SAME: Final = re.compile(r"same:([a-z_-]{1,40})")
SHARED: Final = (*(name for name in Summary.__struct_fields__ if name != "frameworks"), *(spec.name for spec in CATALOGUE))
"""What `same:` can ask for: each fact of a report's summary, and each framework's version."""
_NAMED: Final = 3
"""Values that are named with their nodes; of more, the number."""


class FleetCondition(msgspec.Struct, frozen=True):
    """One requirement."""

    text: str
    subject: str
    """nodes, gpus, or one of SHARED."""
    comparison: str = ""
    """Empty: the subject must be the same on all nodes."""
    number: int = 0

    @property
    def counts_nodes(self) -> bool:
        """Whether it says how many nodes are enough."""
        return self.subject == "nodes" and self.comparison in {">=", ">", "=="}


def parse(text: str) -> FleetCondition:
    """Return the requirement that `text` spells. Raises UsageError if it is invalid."""
    written = text.strip()
    number, same = _NUMBER.fullmatch(written), _SAME.fullmatch(written)
    if number is not None:
        return FleetCondition(written, number[1], number[2], int(number[3]))
    if same is not None and same[1] in SHARED:
        return FleetCondition(written, same[1])
    if same is not None:
        rest = f"same: takes one of {', '.join(SHARED)}."
        raise UsageError(f"--require {written!r}: {suggestion(same[1], SHARED, rest)}")
    raise UsageError(f"--require {written!r}: write it as in 'nodes>=32', 'gpus>=256' or 'same:driver', in quotes.")


def checked(conditions: Sequence[FleetCondition], roster: Roster, usable: int) -> tuple[Requirement, ...]:
    """Return whether the usable nodes meet each condition."""
    return tuple(
        _same(condition, roster, usable) if not condition.comparison else _number(condition, roster, usable) for condition in conditions
    )


def _number(condition: FleetCondition, roster: Roster, usable: int) -> Requirement:
    compare, wanted = _COMPARED[condition.comparison], condition.number
    if condition.subject == "nodes":
        seen = usable.bit_count()
        return Requirement(condition.text, compare(seen, wanted), f"{counted(seen, 'node')} {agree(seen, 'is', 'are')} usable")
    seen = sum(model.count for row in roster.rows(usable) for model in row.gpus)
    said = f"the usable nodes have {counted(seen, 'GPU')}"
    unknown = among(row.place for row in roster.rows(usable) if row.summary.gpus is None)
    if not unknown:
        return Requirement(condition.text, compare(seen, wanted), said)
    possible = {compare(max(seen, number), wanted) for number in (seen, wanted, wanted + 1)}  # unknown GPUs can only add to those seen
    said += f", without those of {roster.nodes(unknown).folded}, which are not known"
    return Requirement(condition.text, possible.pop() if len(possible) == 1 else None, said)


def _same(condition: FleetCondition, roster: Roster, usable: int) -> Requirement:
    made: dict[str | None, Runs] = defaultdict(Runs)
    for row in roster.rows(usable):
        made[_value(row.summary, condition.subject)].add(row.place)
    having = {value: places.as_set() for value, places in made.items()}
    unknown = having.pop(None, 0)
    if len(having) > 1:
        most = max(having, key=lambda value: having[value].bit_count())
        others = [f"{value} on {roster.nodes(of).folded}" for value, of in having.items() if value != most]
        said = joined(others) if len(others) <= _NAMED else f"{len(others)} other values"
        return Requirement(condition.text, met=False, reason=f"{most} on most, {said}")
    if unknown or not having:
        reason = f"not known on {roster.nodes(unknown).folded}" if unknown else "no node is usable"
        return Requirement(condition.text, met=None, reason=reason)
    return Requirement(condition.text, met=True, reason=f"{next(iter(having))} on {counted(usable.bit_count(), 'node')}")


def _value(summary: Summary, subject: str) -> str | None:
    """Return a fact in words; None if it is not known."""
    if subject == "gpus":
        gpus = summary.gpus
        return None if gpus is None else tally((model.count, model.model) for model in gpus) or "none"
    if subject in Summary.__struct_fields__:
        value = getattr(summary, subject)
        return None if value is None else str(value) or "none"
    builds = summary.frameworks
    if builds is None:
        return None
    return next((build.version for build in builds if build.name == subject), "none")
