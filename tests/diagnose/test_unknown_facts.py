"""No rule crashes where any one fact of a recorded machine is unknown."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.engine import run_all
from gpudoctor.diagnose.rules import RULES
from gpudoctor.errors import UsageError
from gpudoctor.findings import OutcomeKind
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import decode
from tests.diagnose.conditions import UNKNOWN
from tests.machines import delta, store

EACH = 2
"""On how many machines each kind of fact is made unknown."""


def places(value: Any, pointer: str = "") -> Iterator[str]:
    """Yield the places of all known facts."""
    if pointer:
        yield pointer
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        if key != "type" and not (isinstance(part, dict) and part.get("type") == "missing"):
            yield from places(part, f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}")


def chosen() -> dict[str, list[str]]:
    """Return the places of facts to make unknown, by machine: each fact of a kind on the machines with the fewest so far."""
    holders: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for name in store.NAMES:
        for place in places(msgspec.json.decode(store.RECORDED.snapshot(name))):
            holders[re.sub(r"/\d+(?=/|$)", "/N", place)][name] = place
    taken: defaultdict[str, list[str]] = defaultdict(list)
    for found in sorted(holders.values(), key=len):
        for name in sorted(found, key=lambda name: len(taken[name]))[:EACH]:
            taken[name].append(found[name])
    return {name: taken[name] for name in sorted(taken) if taken[name]}


PLACES = chosen()


@pytest.mark.parametrize("name", PLACES)
def test_an_unknown_fact_crashes_no_rule(name: str, matrix: Matrix) -> None:
    for place in PLACES[name]:
        document = msgspec.json.decode(store.RECORDED.snapshot(name))
        delta.apply({place: UNKNOWN}, document)
        try:
            snapshot = decode(msgspec.json.encode(document))
        except UsageError:
            continue  # no snapshot leaves it out
        outcomes = [run.outcome for run in run_all(RULES, MachineView(snapshot, matrix, store.policy(name)))]
        assert [(place, one.name, one.reason) for one in outcomes if one.kind is OutcomeKind.CRASHED] == []
