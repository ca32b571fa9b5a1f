"""What `fleet --require` accepts: "nodes>=32", "gpus>=256" and "same:driver", about the usable nodes."""

from __future__ import annotations

import operator
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.findings.summary import Summary
from gpudoctor.findings.wording import count_list, count_with_noun, joined_words, singular_or_plural
from gpudoctor.fleet.places import PlaceSet, place_bits
from gpudoctor.fleet.roster import Roster
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.report.fleet import Requirement
from gpudoctor.suggestions import suggestion

_COMPARISONS: Final = {">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt}
_NUMBER_FORM: Final = re.compile(rf"(nodes|gpus)\s*({'|'.join(_COMPARISONS)})\s*(\d{{1,9}})")
_SAME_FORM: Final = re.compile(r"same:([a-z_-]{1,40})")
SHARED: Final = (*(name for name in Summary.__struct_fields__ if name != "frameworks"), *(spec.name for spec in CATALOGUE))
"""What `same:` can ask for: each fact of a report's summary, and each framework's version."""
_MAX_NAMED_VALUES: Final = 3
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


def parse_fleet_condition(text: str) -> FleetCondition:
    """Return the requirement that `text` spells. Raises UsageError if it is invalid."""
    written = text.strip()
    number, same = _NUMBER_FORM.fullmatch(written), _SAME_FORM.fullmatch(written)
    if number is not None:
        return FleetCondition(written, number[1], number[2], int(number[3]))
    if same is not None and same[1] in SHARED:
        return FleetCondition(written, same[1])
    if same is not None:
        rest = f"same: takes one of {', '.join(SHARED)}."
        raise UsageError(f"--require {written!r}: {suggestion(same[1], SHARED, rest)}")
    raise UsageError(f"--require {written!r}: write it as in 'nodes>=32', 'gpus>=256' or 'same:driver', in quotes.")


def checked_requirements(conditions: Sequence[FleetCondition], roster: Roster, usable: int) -> tuple[Requirement, ...]:
    """Return whether the usable nodes meet each condition."""
    return tuple(
        _check_same(condition, roster, usable) if not condition.comparison else _check_number(condition, roster, usable)
        for condition in conditions
    )


def _check_number(condition: FleetCondition, roster: Roster, usable: int) -> Requirement:
    compare, wanted = _COMPARISONS[condition.comparison], condition.number
    if condition.subject == "nodes":
        seen = usable.bit_count()
        return Requirement(
            condition.text, compare(seen, wanted), f"{count_with_noun(seen, 'node')} {singular_or_plural(seen, 'is', 'are')} usable"
        )
    seen = sum(model.count for row in roster.rows(usable) for model in row.gpus)
    said = f"the usable nodes have {count_with_noun(seen, 'GPU')}"
    unknown = place_bits(row.place for row in roster.rows(usable) if row.summary.gpus is None)
    if not unknown:
        return Requirement(condition.text, compare(seen, wanted), said)
    possible = {compare(max(seen, number), wanted) for number in (seen, wanted, wanted + 1)}  # unknown GPUs can only add to those seen
    said += f", without those of {roster.nodes(unknown).folded}, which are not known"
    return Requirement(condition.text, possible.pop() if len(possible) == 1 else None, said)


def _check_same(condition: FleetCondition, roster: Roster, usable: int) -> Requirement:
    made: dict[str | None, PlaceSet] = defaultdict(PlaceSet)
    for row in roster.rows(usable):
        made[_value_text(row.summary, condition.subject)].add(row.place)
    having = {value: places.as_set() for value, places in made.items()}
    unknown = having.pop(None, 0)
    if len(having) > 1:
        most = max(having, key=lambda value: having[value].bit_count())
        others = [f"{value} on {roster.nodes(of).folded}" for value, of in having.items() if value != most]
        said = joined_words(others) if len(others) <= _MAX_NAMED_VALUES else f"{len(others)} other values"
        return Requirement(condition.text, met=False, reason=f"{most} on most, {said}")
    if unknown or not having:
        reason = f"not known on {roster.nodes(unknown).folded}" if unknown else "no node is usable"
        return Requirement(condition.text, met=None, reason=reason)
    return Requirement(condition.text, met=True, reason=f"{next(iter(having))} on {count_with_noun(usable.bit_count(), 'node')}")


def _value_text(summary: Summary, subject: str) -> str | None:
    """Return a fact in words; None if it is not known."""
    if subject == "gpus":
        gpus = summary.gpus
        return None if gpus is None else count_list((model.count, model.model) for model in gpus) or "none"
    if subject in Summary.__struct_fields__:
        value = getattr(summary, subject)
        return None if value is None else str(value) or "none"
    builds = summary.frameworks
    if builds is None:
        return None
    return next((build.version for build in builds if build.name == subject), "none")
